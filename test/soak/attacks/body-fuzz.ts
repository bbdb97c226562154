import { createClient, inParallel } from '../client.js';
import { multipart, mutate, type Random } from '../mutate.js';
import type { Scenario } from '../scenario.js';
import type { World } from '../world.js';

interface Kind {
  name: string;
  /** What the parsers of this kind look for. */
  words: readonly string[];
  types: readonly string[];
  seeds(world: World): { path: string; body: Buffer }[];
}

/** The smallest PNG. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const texts = [
  [
    '/text/remove-stopwords',
    { text: "I don't know why", keep: ['not', 'why'], also: ['know'], language: 'eng' },
  ],
  ['/text/diff-two-strings', { a: 'one\ntwo\n', b: 'one\n2', context: 3, patch: true, dryrun: false }],
  ['/media/add-border', { width: 20, color: 'pale warm yellow', format: 'webp', dryrun: true }],
  ['/media/add-watermark', { text: '© Ada', opacity: '50%', font_size: 20, position: 'tl', dryrun: true }],
] as const;

const json: Kind = {
  name: 'json',
  words: [
    ...'{}[]:,"\\',
    ...'null true 1e999 -0 0x1 "\\u0000" \\ud800 \u0000 \xff\xfe \xef\xbb\xbf // /*'.split(' '),
    ...'"__proto__": "constructor":{"prototype":1} "dryrun": "ak":"x", "file": "url":" {"a": [['.split(' '),
    ...['9'.repeat(400), '"65536":1,', 'http://127.0.0.1/'],
  ],
  types: ['application/json', 'application/json; charset=utf-8', 'application/json; charset=utf-16'],
  seeds: () => texts.map(([path, input]) => ({ path, body: Buffer.from(JSON.stringify(input)) })),
};

const urlencoded: Kind = {
  name: 'urlencoded',
  words: [
    ...'& = % %zz %00 %ff %C3 + ; && []= a[b]= __proto__= text= \u0000 \xff'.split(' '),
    ...['&dryrun=1', '&ak=', '&file=x', '&url=http://127.0.0.1/', '%25'.repeat(50)],
  ],
  types: ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=latin1'],
  seeds: () =>
    texts.map(([path, input]) => ({
      path,
      body: Buffer.from(
        new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)])).toString(),
      ),
    })),
};

const form: Kind = {
  name: 'multipart',
  words: [
    ...'\r\n \r \n \r\n\r\n -- \r\n--b0undary \r\n--b0undary-- --b0undary--\r\n \u0000 " \\" ;'.split(' '),
    ...['Content-Transfer-Encoding: 7bit\r\n', 'Content-Transfer-Encoding: base64\r\n'],
    ...['content-transfer-encoding: quoted-printable\r\n', 'Content-Type: multipart/mixed; boundary=c\r\n'],
    ...'filename=" filename*=utf-8\'\'%zz filename=a name="" name="__proto__" name="_charset_"'.split(' '),
    ...['Content-Disposition: form-data; name="file"; filename="a"\r\n', 'content-type:'],
    ...[': \r\n', 'X: '.repeat(100)],
  ],
  types: [
    ...[
      ...'b0undary "b0undary" json octet-stream querystring \xe9 --'.split(' '),
      '',
      'x'.repeat(71),
      'b 0',
    ].map((boundary) => `multipart/form-data; boundary=${boundary}`),
    ...['multipart/form-data', 'multipart/form-data; boundary=b0undary; boundary=other'],
    'multipart/mixed; boundary=b0undary',
  ],
  seeds: ({ picture }) => {
    const values = Object.entries({ width: '3', text: 'x', dryrun: 'false' });
    const fields = values.map(([name, value]) => ({ name, value }));
    const files = [
      { name: 'file', filename: 'a.png', value: pixel },
      { name: 'file', filename: 'a.jpg', value: picture },
      { name: 'file', filename: 'none', value: '' },
      { name: 'logo', filename: 'b', value: pixel, head: 'x-more: 1\r\n' },
    ];
    return ['/media/add-border', '/media/add-watermark', '/text/remove-stopwords'].flatMap((path) =>
      files.map((file) => ({ path, body: multipart([...fields, file]).body })),
    );
  },
};

/** Mostly the type that fits, so that the body is looked into. */
function typeOf(random: Random, { types }: Kind): string {
  return random.below(4) > 0 ? (types[0] as string) : random.pick(types);
}

/** Valid bodies of each kind, with a few random changes: each is answered, and none by a server error. */
export const bodyFuzz: readonly Scenario[] = [json, urlencoded, form].map((kind) => ({
  name: `fuzz: ${kind.name} bodies`,
  bounds: { serverErrors: [] },
  async attack(world, { scale, random, tally }) {
    const client = createClient(world.url, 6);
    const seeds = kind.seeds(world);
    await inParallel({ at: 6, times: scale.calls, goesOn: world.alive }, async () => {
      const seed = random.pick(seeds);
      const [path, type] = [`${seed.path}?ak=${world.key}`, typeOf(random, kind)];
      tally.count((await client.call({ path, type, body: mutate(random, seed.body, kind.words) })).status);
    });
    client.close();
    if (tally.statuses.get(0)) tally.fault(`${tally.statuses.get(0)} calls were not answered`);
  },
}));
