import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { anyCharacter } from '../../../examples.js';
import { skipWithout } from '../../../needs.js';

/** A module of the playground's pages, which the browser reads as it lies in the sources. */
function browserModule<T>(name: string): Promise<T> {
  return import(
    new URL(`../../../../../gateway/docs/playground/assets/${name}`, import.meta.url).href
  ) as Promise<T>;
}

interface Request {
  url: string;
  input: Record<string, unknown>;
  files: { field: string; name: string }[];
  answer: { kind: 'data' } | { kind: 'file'; extension: string };
}
interface Snippets {
  snippet(language: 'curl' | 'fetch' | 'python', request: Request, key?: string): string;
}

const url = 'http://127.0.0.1:8080/text/shout';
/** Without U+0000, which no command line and no file name can hold, and whole characters alone. */
const text = fc.string({ unit: anyCharacter }).filter((each) => !each.includes('\0'));
const awkward = fc.oneof(
  text,
  fc.constantFrom("it's", '"$KEY"', '`id`', '\\', '@file', '<x;type=y', `$\{1}`, '\u2028', '\n'),
);
const value = fc.oneof(
  awkward,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(awkward),
  fc.dictionary(awkward, awkward),
);
const name = fc.stringMatching(/^[a-z_-]{1,8}$/);
const input = fc.dictionary(name, value, { noNullPrototype: true });
const requests: Request[] = fc
  .sample(input, { numRuns: 60, seed: 7 })
  .map((each): Request => ({ url, input: each, files: [], answer: { kind: 'data' } }));
const uploads = fc.sample(input, { numRuns: 30, seed: 9 }).map(
  (each): Request => ({
    url,
    input: each,
    files: [{ field: 'file', name: 'a, "b";c.png' }],
    answer: { kind: 'file', extension: 'png' },
  }),
);

function texts(each: Request): string[][] {
  return Object.entries(each.input).map(([key, member]) => [
    key,
    typeof member === 'string' ? member : JSON.stringify(member),
  ]);
}

describe('the request that the playground shows', () => {
  let snippet: Snippets['snippet'];
  before(async () => {
    ({ snippet } = await browserModule<Snippets>('snippets.js'));
  });

  it('has the key’s variable, or the given text for the key', () => {
    const request = requests[0] as Request;
    expect(snippet('curl', request)).to.include('"Authorization: Bearer $KEY"');
    expect(snippet('fetch', request)).to.include('process.env.KEY');
    expect(snippet('python', request)).to.include('os.environ["KEY"]');
    for (const language of ['curl', 'fetch', 'python'] as const) {
      expect(snippet(language, request, '••••'))
        .to.include('Bearer ••••')
        .and.not.include('KEY');
    }
  });

  it('comes through a shell as it was meant, whatever the values', () => {
    const script = [
      'curl() { printf "%s\\0" "$@"; printf "\\1\\0"; }',
      ...[...requests, ...uploads].map((each) => snippet('curl', each)),
    ].join('\n');
    const { stdout, status } = spawnSync('sh', ['-c', script], {
      encoding: 'utf8',
      env: { KEY: 'hg_secret' },
    });
    expect(status).to.equal(0);
    const calls = stdout
      .split('\x01\0')
      .slice(0, -1)
      .map((call) => call.split('\0').slice(0, -1));
    expect(calls).to.deep.equal([
      ...requests.map((each) => [
        url,
        ...['-H', 'Authorization: Bearer hg_secret', '-H', 'Content-Type: application/json'],
        ...['-d', JSON.stringify(each.input)],
      ]),
      ...uploads.map((each) => [
        url,
        ...['-H', 'Authorization: Bearer hg_secret', '-F', 'file=@"a, \\"b\\";c.png"'],
        ...texts(each).flatMap(([key, member]) => ['--form-string', `${key}=${member}`]),
        ...['--fail-with-body', '-o', 'result.png'],
      ]),
    ]);
  });

  it('uploads a file that is named as curl’s standard input is', () => {
    const [each] = uploads as [Request];
    const request = { ...each, input: {}, files: [{ field: 'file', name: '-' }] };
    expect(snippet('curl', request)).to.include('-F file=@./-');
  });

  it('is JavaScript that makes the call, whatever the values', async () => {
    const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
    for (const each of [...requests, ...uploads]) {
      const code = snippet('fetch', each).replaceAll(/^import .*$/gm, '');
      const sent: [string, RequestInit][] = [];
      const answer = { ok: true, json: () => ({}), arrayBuffer: () => new ArrayBuffer(0) };
      const scope = {
        fetch: (to: string, init: RequestInit) => sent.push([to, init]) && answer,
        process: { env: { KEY: 'hg_secret' } },
        console: { log: () => undefined },
        openAsBlob: (file: string) => new Blob([file]),
        writeFile: () => undefined,
      };
      await new AsyncFunction(...Object.keys(scope), code)(...Object.values(scope));
      const [to, init] = sent[0] as [string, RequestInit];
      expect(to).to.equal(url);
      expect(new Headers(init.headers).get('authorization')).to.equal('Bearer hg_secret');
      if (each.files.length === 0) expect(JSON.parse(init.body as string)).to.deep.equal(each.input);
      else {
        const { file, ...fields } = Object.fromEntries(init.body as FormData);
        expect((file as File).name).to.equal('a, "b";c.png');
        expect(fields).to.deep.equal(Object.fromEntries(texts(each)));
      }
    }
  });

  it('is Python that makes the call, whatever the values', function () {
    const runner = [
      'import json, sys, types, builtins',
      'calls = []',
      'class Answer:',
      '    content = b""',
      '    ok = True',
      '    def json(self): return None',
      'def post(url, **given):',
      '    calls.append({"url": url, **given}); return Answer()',
      'sys.modules["requests"] = types.SimpleNamespace(post=post)',
      'class Opened(str):',
      '    def write(self, content): pass',
      'quiet = {"open": lambda name, mode: Opened(name), "print": lambda *given: None}',
      'for code in json.load(sys.stdin): exec(code, dict(quiet))',
      'json.dump(calls, sys.stdout)',
    ].join('\n');
    const codes = [...requests, ...uploads].map((each) => snippet('python', each));
    const { stdout, stderr, error } = spawnSync('python3', ['-c', runner], {
      encoding: 'utf8',
      input: JSON.stringify(codes),
      env: { PATH: process.env.PATH, KEY: 'hg_secret' },
    });
    if (error) skipWithout(this, 'python3');
    expect(stderr).to.equal('');
    const headers = { Authorization: 'Bearer hg_secret' };
    expect(JSON.parse(stdout)).to.deep.equal([
      ...requests.map((each) => ({ url, headers, json: each.input })),
      ...uploads.map((each) => ({
        url,
        headers,
        files: { file: 'a, "b";c.png' },
        ...(texts(each).length > 0 ? { data: Object.fromEntries(texts(each)) } : {}),
      })),
    ]);
  });
});

interface Values {
  scalarOf(text: string, types: string[]): unknown;
  itemsOf(text: string, types: string[]): unknown;
  textOfItems(items: unknown[]): string;
}
interface Views {
  isDiff(value: unknown): boolean;
  removedParts(before: string[], after: string[]): { text: string; removed: boolean }[] | undefined;
}
interface Requests {
  describe(request: object, form: object): { answer: { extension?: string } };
}
interface Address {
  fragmentOf(texts: Map<string, string>): string;
  textsIn(fragment: string): Map<string, string>;
}

describe('the file that the playground’s request writes', () => {
  it('has the ending of the format, and of the picture that is sent where that is to stay', async () => {
    const { describe: written } = await browserModule<Requests>('request.js');
    const ending = (input: object, files: [string, { name: string }][] = []) => {
      const request = { url: '/', input, files: new Map(files) };
      return written(request, { dataset: { answer: 'picture' } }).answer.extension;
    };
    expect(ending({})).to.equal('png');
    expect(ending({ format: 'avif' })).to.equal('avif');
    expect(ending({ format: 'same' }, [['file', { name: 'a.b.gif' }]])).to.equal('gif');
    expect(ending({ format: 'same', url: 'https://x.example/y.JPEG?z=1.gif' })).to.equal('jpeg');
    expect(ending({ format: 'same', url: 'https://x.example/y' })).to.equal('png');
  });
});

describe('what is typed into the playground', () => {
  let values: Values;
  before(async () => {
    values = await browserModule('fields.js');
  });

  it('is a number, a boolean or null where the schema says so, and else the text as it is', () => {
    expect(values.scalarOf(' 12 ', ['integer'])).to.equal(12);
    expect(values.scalarOf('1e3', ['number'])).to.equal(1000);
    expect(values.scalarOf('12', ['string'])).to.equal('12');
    expect(values.scalarOf('50%', ['number', 'string'])).to.equal('50%');
    expect(values.scalarOf('0x10', ['integer'])).to.equal('0x10');
    expect(values.scalarOf('1e999', ['number'])).to.equal('1e999');
    expect(values.scalarOf('true', ['boolean', 'string'])).to.equal(true);
    expect(values.scalarOf('null', ['null', 'string'])).to.equal(null);
  });

  it('is a list with commas, or as JSON', () => {
    expect(values.itemsOf(' a, b,c ', ['string'])).to.deep.equal(['a', 'b', 'c']);
    expect(values.itemsOf('1, 2', ['integer'])).to.deep.equal([1, 2]);
    expect(values.itemsOf('', ['string'])).to.deep.equal([]);
    expect(values.itemsOf('["a, b"]', ['string'])).to.deep.equal(['a, b']);
  });

  it('gives any list of strings back that was filled in', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (items) => {
        expect(values.itemsOf(values.textOfItems(items), ['string'])).to.deep.equal(items);
      }),
    );
  });
});

describe('the fragment of the playground’s address', () => {
  it('gives back every text, with %20 for a space', async () => {
    const { fragmentOf, textsIn } = await browserModule<Address>('fields.js');
    expect(fragmentOf(new Map([['a', 'x y+z']]))).to.equal('a=x%20y%2Bz');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (entries) => {
        const texts = new Map(entries);
        expect([...textsIn(`#${fragmentOf(texts)}`)]).to.deep.equal([...texts]);
      }),
    );
  });
});

describe('the playground’s views', () => {
  let views: Views;
  before(async () => {
    views = await browserModule('views.js');
  });

  it('know a unified diff by its hunks', () => {
    expect(views.isDiff('@@ -1,2 +1 @@\n-a\n b')).to.equal(true);
    expect(views.isDiff('a - b @@ c')).to.equal(false);
    expect(views.isDiff(['@@ -1 +1 @@'])).to.equal(false);
  });

  it('mark what went, and say so where something came in', () => {
    const split = (text: string) => text.split(/(?<= )|(?= )/);
    expect(views.removedParts(split('over the lazy dog'), split('over  lazy dog'))).to.deep.equal([
      { text: 'over ', removed: false },
      { text: 'the', removed: true },
      { text: ' lazy dog', removed: false },
    ]);
    expect(views.removedParts(['a'], ['b'])).to.equal(undefined);
  });

  it('leave of any text exactly what stayed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', ' '), fc.boolean())), (words) => {
        const before = words.map(([word]) => word);
        const after = words.filter(([, stays]) => stays).map(([word]) => word);
        const parts = views.removedParts(before, after) ?? [];
        expect(parts.map(({ text }) => text).join('')).to.equal(before.join(''));
        const rest = parts.filter(({ removed }) => !removed).map(({ text }) => text);
        expect(rest.join('')).to.equal(after.join(''));
      }),
    );
  });
});
