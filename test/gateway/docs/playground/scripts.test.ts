import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { anyCharacter } from '../../../examples.js';
import { skipWithout } from '../../../needs.js';

const assets = new URL('../../../../../gateway/docs/playground/assets/', import.meta.url);
/** A module of the playground's pages, which the browser reads as it lies in the sources. */
const browserModule = <T>(name: string): Promise<T> => import(new URL(name, assets).href);

interface Request {
  url: string;
  input: Record<string, unknown>;
  files: Map<string, { name: string }>;
  output?: string;
}
type Snippet = (language: 'curl' | 'fetch' | 'python', request: Request, key?: string) => string;

const url = 'http://127.0.0.1:8080/text/shout';
/** Without U+0000, which no command line and no file name can hold, and whole characters alone. */
const text = fc.string({ unit: anyCharacter }).filter((each) => !each.includes('\0'));
const awkward = fc.oneof(
  text,
  fc.constantFrom("it's", '"$KEY"', '`id`', '\\', '@file', '<x;type=y', `$\{1}`, '\u2028', '\n'),
);
const plain = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null));
const value = fc.oneof(awkward, plain, fc.array(awkward), fc.dictionary(awkward, awkward));
const inputs = (numRuns: number) => {
  const name = fc.stringMatching(/^[a-z_-]{1,8}$/);
  return fc.sample(fc.dictionary(name, value, { noNullPrototype: true }), { numRuns, seed: 7 });
};
const requests = inputs(60).map((input): Request => ({ url, input, files: new Map() }));
const files = new Map([['file', { name: 'a, "b";c.png' }]]);
const uploads = inputs(30).map((input): Request => ({ url, input, files, output: 'result.png' }));

const textOf = (member: unknown) => (typeof member === 'string' ? member : JSON.stringify(member));
const texts = ({ input }: Request) => Object.entries(input).map(([key, member]) => [key, textOf(member)]);

describe('the request that the playground shows', () => {
  let snippet: Snippet;
  before(async () => {
    ({ snippet } = await browserModule<{ snippet: Snippet }>('request.js'));
  });

  it('has the key’s variable, or the given text for the key', () => {
    const request = requests[0] as Request;
    expect(snippet('curl', request)).to.include('"Authorization: Bearer $KEY"');
    expect(snippet('fetch', request)).to.include('process.env.KEY');
    expect(snippet('python', request)).to.include('os.environ["KEY"]');
    for (const language of ['curl', 'fetch', 'python'] as const) {
      expect(snippet(language, request, '••••')).to.match(/^(?!.*KEY).*Bearer ••••/s);
    }
  });

  it('comes through a shell as it was meant, whatever the values', () => {
    const print = 'curl() { printf "%s\\0" "$@"; printf "\\1\\0"; }';
    const script = [print, ...[...requests, ...uploads].map((each) => snippet('curl', each))].join('\n');
    const env = { KEY: 'hg_secret' };
    const { stdout, status } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env });
    expect(status).to.equal(0);
    const calls = stdout.split('\x01\0').slice(0, -1);
    const start = [url, '-H', 'Authorization: Bearer hg_secret'];
    expect(calls.map((call) => call.split('\0').slice(0, -1))).to.deep.equal([
      ...requests.map(({ input }) => [
        ...[...start, '-H', 'Content-Type: application/json', '-d', JSON.stringify(input)],
      ]),
      ...uploads.map((each) => [
        ...[...start, '-F', 'file=@"a, \\"b\\";c.png"'],
        ...texts(each).flatMap(([key, member]) => ['--form-string', `${key}=${member}`]),
        ...['--fail-with-body', '-o', 'result.png'],
      ]),
    ]);
  });

  it('uploads a file that is named as curl’s standard input is', () => {
    const request = { ...(uploads[0] as Request), input: {}, files: new Map([['file', { name: '-' }]]) };
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
      if (each.files.size === 0) expect(JSON.parse(init.body as string)).to.deep.equal(each.input);
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
    const env = { PATH: process.env.PATH, KEY: 'hg_secret' };
    const options = { encoding: 'utf8', input: JSON.stringify(codes), env } as const;
    const { stdout, stderr, error } = spawnSync('python3', ['-c', runner], options);
    if (error) skipWithout(this, 'python3');
    expect(stderr).to.equal('');
    const headers = { Authorization: 'Bearer hg_secret' };
    expect(JSON.parse(stdout)).to.deep.equal([
      ...requests.map((each) => ({ url, headers, json: each.input })),
      ...uploads.map((each) => {
        const data = texts(each).length > 0 && { data: Object.fromEntries(texts(each)) };
        return { url, headers, files: { file: 'a, "b";c.png' }, ...data };
      }),
    ]);
  });
});

describe('the recipe that the playground shows', () => {
  it('has the steps and the format, with each brace as a literal one, and a summary that is short enough', async () => {
    const { recipeOf } = await browserModule<{ recipeOf(input: object): unknown }>('request.js');
    const written = { use: 'media/add-watermark', text: 'a {b} {{', list: ['{'], margin: 3 };
    expect(
      recipeOf({ steps: [written], quality: 80, url: 'https://x.example', format: 'jpg' }),
    ).to.deep.equal({
      summary: 'add-watermark',
      steps: [{ ...written, text: 'a {{b} {{{{', list: ['{{'] }],
      format: 'jpg',
    });
    const many = Array.from({ length: 10 }, () => ({ use: `shop/${'x'.repeat(60)}` }));
    expect(recipeOf({ steps: many }))
      .to.have.property('summary')
      .with.length(200);
  });
});

describe('the file that the playground’s request writes', () => {
  it('has the ending of the format, and of the picture that is sent where that is to stay', async () => {
    const { outputOf } = await browserModule<{
      outputOf(input: object, files: Request['files'], dataset: object): string | undefined;
    }>('request.js');
    for (const [extension, input, name] of [
      ['png', {}],
      ['avif', { format: 'avif' }],
      ['gif', { format: 'same' }, 'a.b.gif'],
      ['jpeg', { format: 'same', url: 'https://x.example/y.JPEG?z=1.gif' }],
      ['png', { format: 'same', url: 'https://x.example/y' }],
    ] as const) {
      const files = new Map(name ? [['file', { name }]] : []);
      expect(outputOf(input, files, { answer: 'picture' })).to.equal(`result.${extension}`);
    }
  });
});

describe('what is typed into the playground', () => {
  let fields: {
    scalarOf(text: string, types: readonly string[]): unknown;
    itemsOf(text: string, types: readonly string[]): unknown;
    textOfItems(items: unknown[]): string;
    fragmentOf(texts: Map<string, string>): string;
    textsIn(fragment: string): Map<string, string>;
  };
  before(async () => {
    fields = await browserModule('fields.js');
  });

  it('is a number, a boolean or null where the schema says so, and else the text as it is', () => {
    for (const [text, types, value] of [
      [' 12 ', ['integer'], 12],
      ['1e3', ['number'], 1000],
      ['12', ['string'], '12'],
      ['50%', ['number', 'string'], '50%'],
      ['0x10', ['integer'], '0x10'],
      ['1e999', ['number'], '1e999'],
      ['true', ['boolean', 'string'], true],
      ['null', ['null', 'string'], null],
    ] as const) {
      expect(fields.scalarOf(text, types), text).to.equal(value);
    }
  });

  it('is a list with commas, or as JSON, and any list of strings comes back that was filled in', () => {
    expect(fields.itemsOf(' a, b,c ', ['string'])).to.deep.equal(['a', 'b', 'c']);
    expect(fields.itemsOf('1, 2', ['integer'])).to.deep.equal([1, 2]);
    fc.assert(
      fc.property(fc.array(fc.string()), (items) => {
        expect(fields.itemsOf(fields.textOfItems(items), ['string'])).to.deep.equal(items);
      }),
    );
  });

  it('comes back from the fragment of the address, which has %20 for a space', () => {
    expect(fields.fragmentOf(new Map([['a', 'x y+z']]))).to.equal('a=x%20y%2Bz');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (entries) => {
        const texts = new Map(entries);
        expect([...fields.textsIn(`#${fields.fragmentOf(texts)}`)]).to.deep.equal([...texts]);
      }),
    );
  });
});

describe('the playground’s views', () => {
  let views: {
    isDiff(value: unknown): boolean;
    removedParts(before: string[], after: string[]): { text: string; removed: boolean }[] | undefined;
  };
  before(async () => {
    views = await browserModule('answer.js');
  });

  it('know a unified diff by its hunks', () => {
    for (const [value, isDiff] of [
      ['@@ -1,2 +1 @@\n-a\n b', true],
      ['a - b @@ c', false],
      [['@@ -1 +1 @@'], false],
    ]) {
      expect(views.isDiff(value)).to.equal(isDiff);
    }
  });

  it('mark what went, and say so where something came in', () => {
    const split = (text: string) => text.split(/(?<= )|(?= )/);
    const parts = views.removedParts(split('over the lazy dog'), split('over  lazy dog')) ?? [];
    const marked = parts.map(({ text, removed }) => (removed ? `[${text}]` : text));
    expect(marked).to.deep.equal(['over ', '[the]', ' lazy dog']);
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
