import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalQuery, signatureOf } from '../../../gateway/signing/signed-url.js';
import { snippets } from '../../../gateway/signing/snippets.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import { anyCharacter } from '../../examples.js';
import { skipWithout } from '../../needs.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { master, signing, vectors } from './signing.js';

/** What a snippet is given. */
interface Call {
  address: string;
  key_id: string;
  secret: string;
  expires: number;
}

/** How a language runs a program that lies beside its snippet, by the ending of the snippet's file. */
interface Runner {
  command: string;
  args: readonly string[];
  /** What is missing where the command does not say its version. */
  debian: string;
  version?: string;
  /** A program that reads calls as JSON on its standard input, and prints their urls as JSON. */
  batch: string;
}

const runners: Record<string, Runner> = {
  '.mjs': {
    command: process.execPath,
    args: [],
    debian: 'nodejs',
    batch: `import { readFileSync } from 'node:fs';
import { signUrl } from './sign.mjs';
const calls = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(calls.map((c) => signUrl(c.address, c.key_id, c.secret, c.expires))));`,
  },
  '.py': {
    command: 'python3',
    args: ['-B', '-W', 'error'],
    debian: 'python3',
    batch: `import json, sys
from sign import sign_url
calls = json.load(sys.stdin.buffer)
print(json.dumps([sign_url(c["address"], c["key_id"], c["secret"], c["expires"]) for c in calls]))`,
  },
  '.php': {
    command: 'php',
    args: ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr'],
    debian: 'php-cli',
    batch: `<?php
require __DIR__ . '/sign.php';
$calls = json_decode(file_get_contents('php://stdin'), true, 512, JSON_THROW_ON_ERROR);
echo json_encode(array_map(fn ($c) => sign_url($c['address'], $c['key_id'], $c['secret'], $c['expires']), $calls));`,
  },
  '.go': {
    command: 'go',
    args: ['run', 'sign.go'],
    debian: 'golang-go',
    version: 'version',
    batch: `package main

import (
	"encoding/json"
	"os"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var calls []struct {
		Address, Secret string
		KeyID           string \`json:"key_id"\`
		Expires         int64
	}
	check(json.NewDecoder(os.Stdin).Decode(&calls))
	urls := []string{}
	for _, c := range calls {
		signed, err := SignURL(c.Address, c.KeyID, c.Secret, c.Expires)
		check(err)
		urls = append(urls, signed)
	}
	check(json.NewEncoder(os.Stdout).Encode(urls))
}`,
  },
  '.rb': {
    command: 'ruby',
    args: ['-w'],
    debian: 'ruby',
    batch: `require "json"
require_relative "sign"
puts JSON.parse(STDIN.read.force_encoding("UTF-8")).map { |c| sign_url(c["address"], c["key_id"], c["secret"], c["expires"]) }.to_json`,
  },
};

const own = ['kid', 'exp', 'sig'];
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 8 }),
  fc.string({ unit: fc.constantFrom(...'aA0.-_~*\'()! +&=%/?;:@,$"<>[]üß🦔'), maxLength: 12 }),
  fc.constantFrom('', '0', '9', '10', 'a', 'a-b', 'A', 'keyid', '__proto__', '100%', '\r\n', '\ufeff'),
);
const name = text.filter((each) => !own.includes(each));
const parameters = fc.uniqueArray(fc.tuple(name, text), { maxLength: 8, selector: ([each]) => each });

/** What need not be encoded in a query, though some do; what has a meaning there and what is no visible character must. */
const mayStay = /[^&=+%#\s\p{C}]/u;

/** Writes parameters as somebody might: what need not be encoded is or is not, in capitals or small letters, spaces in both ways. */
const address = fc
  .tuple(
    fc.constantFrom('', 'https://img.example.com', 'http://127.0.0.1:8080'),
    fc.constantFrom('/media/add-border', '/text/shout', '/a'),
    parameters,
    fc.infiniteStream(fc.nat({ max: 3 })),
  )
  .map(([origin, path, pairs, ways]) => {
    const write = (each: string) =>
      Array.from(each, (character) => {
        const way = ways.next().value;
        if (way > 1 && mayStay.test(character)) return character;
        if (way > 1 && character === ' ') return '+';
        const bytes = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
        return way % 2 === 0 ? bytes.join('') : bytes.join('').toUpperCase();
      }).join('');
    const query = pairs.map(([each, value]) => `${write(each)}=${write(value)}`).join('&');
    return query === '' ? `${origin}${path}` : `${origin}${path}?${query}`;
  });

const someCalls: fc.Arbitrary<Call> = fc.record({
  address,
  key_id: fc.stringMatching(/^key_[0-9A-Za-z]{12}$/),
  secret: fc.stringMatching(/^hgs_[\w-]{43}$/),
  expires: fc.integer({ min: 1, max: 4_102_444_800 }),
});

/** The url that the gateway's own code makes of it. */
function signed({ address, key_id, secret, expires }: Call): string {
  const [base = ''] = address.split('?', 1);
  const { values, problems } = parseUrlencoded(address.slice(base.length + 1));
  expect(problems).to.deep.equal([]);
  values.set('kid', key_id).set('exp', String(expires));
  const path = base.replace(/^https?:\/\/[^/]+/, '');
  return `${base}?${canonicalQuery(values)}&sig=${signatureOf(secret, { path, values })}`;
}

describe('the snippets that sign urls', function () {
  // Where Go has its own packages compiled first.
  this.timeout(300_000);
  let api: TestGateway;
  before(async () => {
    api = await startTestGateway({ HELPER_SIGNING_SECRET: master });
  });
  after(() => api.close());

  for (const { language, file, code, call } of snippets()) {
    const { command, args, debian, version = '--version', batch } = runners[extname(file)] as Runner;

    /** What a program prints that lies beside the snippet. */
    function run(program: string, input: string, env: Record<string, string> = {}): string {
      const folder = mkdtempSync(join(tmpdir(), 'snippet-'));
      const main = `main${extname(file)}`;
      try {
        writeFileSync(join(folder, file), code);
        writeFileSync(join(folder, main), program);
        const { status, stdout, stderr, error } = spawnSync(command, [...args, main], {
          cwd: folder,
          input,
          // Nothing is to be fetched, and no settings of this machine's owner count.
          env: { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '', GOWORK: 'off', ...env },
          maxBuffer: 64 * 1024 * 1024,
          encoding: 'utf8',
        });
        if (error) throw error;
        // A warning about the snippet is a mistake of it; others are this machine's.
        if (status !== 0 || stderr.includes(file)) throw new Error(`ends with ${status}: ${stderr}`);
        return stdout;
      } finally {
        rmSync(folder, { recursive: true });
      }
    }
    const signAll = (calls: readonly Call[]) => JSON.parse(run(batch, JSON.stringify(calls))) as string[];

    describe(`in ${language}`, () => {
      before(function () {
        if (spawnSync(command, [version]).status !== 0) skipWithout(this, `${command} (Debian's ${debian})`);
      });

      it('make what a gateway answers', async () => {
        /** In all that a query may not hold as it is. */
        const text = `100% ~*'()! "a+b" & c=d/é#🦔;\\ $x <y>`;
        const key_id = api.gateway.firstKey?.id ?? '';
        const secret = signing.current(key_id, 1);
        const address = `${api.url}/text/remove-stopwords?${new URLSearchParams({ text })}&keep=&language=eng`;
        const expires = Math.floor(Date.now() / 1000) + 3600;
        const late = { address, key_id, secret, expires: expires - 7200 };
        const [url = '', ended = ''] = signAll([{ ...late, expires }, late]);
        const { ok, data } = await (await fetch(url)).json();
        const byKey = await api.call(address.slice(api.url.length));
        expect([ok, data]).to.deep.equal([true, byKey.json.data]);
        expect((await fetch(url.replace('100', '101'))).status).to.equal(403);
        expect((await (await fetch(ended)).json()).error.code).to.equal('signature_expired');
      });

      it('make the urls of the test vectors', () => {
        expect(signAll(vectors)).to.deep.equal(vectors.map(({ url }) => url));
      });

      it('make the urls that the gateway makes, of whatever parameters in whatever writing', () => {
        const seed = Date.now();
        const given = fc.sample(someCalls, { numRuns: 1_000, seed });
        const urls = signAll(given);
        const wrong = given.filter((each, at) => urls[at] !== signed(each));
        const [least] = wrong.sort((a, b) => a.address.length - b.address.length);
        expect(wrong.length, `seed ${seed}: ${JSON.stringify(least)}`).to.equal(0);
      });

      it('are called as the key page shows it', () => {
        const { secret, key_id } = vectors[0] as Call;
        const address = 'https://api.example.com/media/add-border?color=dusty%20rose&width=24';
        const url = run(call(address, key_id), '', { SIGNING_SECRET: secret }).trim();
        const expires = Number(/[?&]exp=(\d+)&/.exec(url)?.[1]);
        expect(url).to.equal(signed({ address, key_id, secret, expires }));
        expect(expires % 3600).to.equal(0);
        expect(expires * 1000 - Date.now()).to.be.within(23 * 3_600_000, 25 * 3_600_000);
      });
    });
  }
});
