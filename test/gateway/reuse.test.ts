import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { until } from '../needs.js';
import {
  type Answer,
  type CallInit,
  gauge,
  shareGateway,
  startTestGateway,
  type TestGateway,
} from './harness.js';

const border = '/media/add-border';

function form(fields: Record<string, string>, bytes: Uint8Array, name = 'picture'): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
  return form;
}

describe('results over HTTP', () => {
  let api: TestGateway;
  let origin: string;
  let picture: Buffer;
  let folder: string;
  let downloads = 0;

  before(async () => {
    const noise = { type: 'gaussian' as const, mean: 128, sigma: 60 };
    const create = { width: 300, height: 220, channels: 3 as const, background: '#3060c0', noise };
    picture = await sharp({ create }).jpeg({ quality: 100 }).toBuffer();
    // Hashed as soon as it has come, and large enough for its place to be asked for before.
    expect(picture.length).to.be.within(66_000, 128_000);
    ({ api, origin } = await shareGateway((_, response) => {
      downloads += 1;
      response.setHeader('cache-control', 'max-age=600').end(picture);
    }));
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reuse-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const runs = async () => (await readFile(join(folder, 'runs'), 'utf8').catch(() => '')).length;
  const open = () => writeFile(join(folder, 'open'), '');
  const gated = (init: CallInit = {}, mood = 'good') =>
    api.call('/gated', { body: form({ folder, mood }, picture), ...init });
  const word = ({ status, headers }: Answer) => `${status} ${headers.get('x-cache')}`;
  const gaugeOf = (name: string) => gauge(api.gateway.connectUrl, name);
  /** Uploads that have come whole and are held; what stands around a picture in a form is little beside it. */
  const held = async () =>
    (await gaugeOf('arriving')) === 0 && Math.floor((await gaugeOf('input_bytes')) / picture.length);

  function expectNoReuse({ headers }: Answer): void {
    const found = ['etag', 'x-cache', 'cache-control'].map((name) => headers.get(name));
    expect(found).to.deep.equal([null, null, 'no-store']);
  }

  it('have one tag, however they were asked for', async () => {
    const query = `?color=RED&width=3&url=${encodeURIComponent(`${origin}/a`)}`;
    const answers = [
      await api.call(`${border}${query}`),
      await api.call(`/img/add-border?url=${encodeURIComponent(`${origin}/b`)}&width=3&color=%23f00`),
      await api.call(border, { body: form({ color: 'red', width: '3' }, picture, 'another name') }),
      await api.call(border, { body: { color: 'red', width: 3, url: `${origin}/c`, format: 'PNG' } }),
      await api.call(`${border}${query}`, { method: 'HEAD' }),
    ];
    const statuses = answers.map(({ headers }) => headers.get('x-cache'));
    expect(statuses).to.deep.equal(['miss', 'hit', 'hit', 'hit', 'hit']);
    const etag = answers[0]?.headers.get('etag') ?? '';
    expect(etag).to.match(/^"[\w-]{43}"$/);
    const length = String(answers[0]?.bytes.length);
    const same = { etag, 'cache-control': 'private, no-store', 'content-length': length };
    for (const { headers } of answers) expect(Object.fromEntries(headers)).to.include(same);
    expect(answers[2]?.bytes).to.deep.equal(answers[0]?.bytes);
    expect(answers[4]?.bytes.length).to.equal(0);
  });

  it('are not sent to a client that has them, by GET or HEAD; the call counts', async () => {
    await open();
    const first = await gated();
    const etag = first.headers.get('etag') ?? '';
    const headers = { 'if-none-match': `"other", W/${etag}` };
    const path = `/gated?folder=${encodeURIComponent(folder)}&mood=good&url=${origin}/p`;
    const before = await callsSoFar();
    for (const method of ['GET', 'HEAD']) {
      const known = await api.call(path, { headers, method });
      expect([known.status, known.bytes.length]).to.deep.equal([304, 0]);
      expect(Object.fromEntries(known.headers))
        .to.include({ etag, 'x-cache': 'hit', 'cache-control': 'private, no-store' })
        .and.to.have.property('x-request-id');
      expect(known.headers.has('content-type')).to.equal(false);
    }
    expect([await runs(), (await callsSoFar()) - before]).to.deep.equal([1, 2]);
    expect((await api.call(path, { headers: { 'if-none-match': '"other"' } })).status).to.equal(200);
    const posted = await gated({ headers });
    const seen = [posted.status, posted.headers.get('x-cache'), posted.bytes];
    expect(seen, 'a POST has no conditions').to.deep.equal([200, 'hit', first.bytes]);
  });

  const callsSoFar = () => gaugeOf('calls_total\\{service="gated",code="ok"\\}');

  it('are made once for 50 calls at once, of which one alone holds a place', async () => {
    const calls = Array.from({ length: 50 }, () => gated());
    await until(async () => (await held()) === 50 && (await runs()) === 1);
    expect(await gaugeOf('pool_places')).to.equal(1);
    await open();
    const answers = await Promise.all(calls);
    expect(answers.map(word).sort()).to.deep.equal(['200 miss', ...Array(49).fill('200 shared')]);
    expect(new Set(answers.map(({ bytes }) => Buffer.from(bytes).toString('base64'))).size).to.equal(1);
    expect(await runs()).to.equal(1);
    const times = api.log.filter(({ service }) => service === 'gated');
    expect(new Set(times.map(({ request_id }) => request_id)).size).to.equal(times.length);
  });

  it('cost calls by one url at once one download and one task', async () => {
    downloads = 0;
    const query = new URLSearchParams({ folder, mood: 'good', url: `${origin}/once` });
    const calls = Array.from({ length: 50 }, () => api.call(`/gated?${query}`));
    await until(async () => (await runs()) === 1);
    await open();
    const words = (await Promise.all(calls)).map(word);
    expect(words.filter((each) => each === '200 miss')).to.have.length(1);
    expect([await runs(), downloads]).to.deep.equal([1, 1]);
  });

  it('are a tenant’s own, with the same tag', async () => {
    await api.manage('/api/tenants', { name: 'reuser' });
    const { key } = await api.manage('/api/tenants/reuser/keys');
    await open();
    const all = [await gated(), await gated({ key }), await gated({ key })];
    const [own, others] = all.map(({ headers }) => headers);
    expect(all.map(({ headers }) => headers.get('x-cache'))).to.deep.equal(['miss', 'miss', 'hit']);
    expect(own?.get('etag')).to.equal(others?.get('etag'));
  });

  it('that fail are an error of each call’s own', async () => {
    const calls = Array.from({ length: 5 }, () => gated({}, 'bad'));
    await until(async () => (await held()) === 5 && (await runs()) === 1);
    await open();
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(5).fill(500));
    expect(new Set(answers.map(({ json }) => json.meta.request_id)).size).to.equal(5);
    for (const answer of answers) expectNoReuse(answer);
    expect(await runs()).to.equal(1);
    await gated({}, 'bad');
    expect(await runs()).to.equal(2);
  });

  it('that are data are made for each call', async () => {
    const calls = Array.from({ length: 3 }, () => gated({}, 'data'));
    await until(async () => (await held()) === 3 && (await runs()) === 1);
    await open();
    for (const answer of await Promise.all(calls)) {
      expect(answer.json.data).to.deep.equal({ width: 300 });
      expectNoReuse(answer);
    }
    expect(await runs()).to.equal(3);
  });

  it('go on in another’s slot when the client goes away in whose slot they were to be made', async () => {
    // The one thread is busy, so that the first of the calls waits in the queue.
    const other = await mkdtemp(join(tmpdir(), 'reuse-'));
    const before = api.call('/gated', { body: form({ folder: other }, picture) });
    await until(async () => (await readFile(join(other, 'runs')).catch(() => '')).length === 1);
    const leaving = new AbortController();
    const left = gated({ signal: leaving.signal }).catch((error) => error.name);
    await until(async () => (await gaugeOf('pool_places')) === 2);
    const calls = [gated(), gated()];
    await until(async () => (await held()) === 4);
    leaving.abort();
    expect(await left).to.equal('AbortError');
    await until(async () => (await held()) === 3);
    await writeFile(join(other, 'open'), '');
    await open();
    const words = (await Promise.all(calls)).map(word);
    expect(words.sort()).to.deep.equal(['200 miss', '200 shared']);
    expect(await runs()).to.equal(1);
    expect((await before).status).to.equal(200);
    await rm(other, { recursive: true });
  });

  it('of which more is made than the input are neither cached nor tagged', async () => {
    const says = (fields: Record<string, string>, init: CallInit = {}) =>
      api.call('/says', { body: form(fields, picture), ...init });
    const [plain, again] = [await says({}), await says({})];
    expect(again.bytes).to.deep.equal(plain.bytes);
    // Also where it was refused: a handler may have drawn that.
    for (const fetches of [`${origin}/x`, 'http://10.0.0.1/']) {
      const fetched = [await says({ fetches }), await says({ fetches })];
      expect(fetched[0]?.bytes).to.not.deep.equal(fetched[1]?.bytes);
      expect(fetched[1]?.headers.get('etag')).to.equal(null);
    }
    const anew = [1, 2].map(() => api.call('/anew', { body: form({}, picture) }));
    const [one, two] = await Promise.all(anew);
    expect(one?.bytes).to.not.deep.equal(two?.bytes);
    expectNoReuse(one as Answer);
  });

  it('are known by the tag that their helper gives them', async () => {
    const init = { body: form({ etag: '"own"', control: 'max-age=5' }, picture) };
    const own = await api.call('/says', init);
    const given = { etag: '"own"', 'cache-control': 'max-age=5', 'x-cache': 'miss' };
    expect(Object.fromEntries(own.headers)).to.include(given);
    const asked = new URLSearchParams({ etag: '"own"', control: 'max-age=5', url: `${origin}/p` });
    const known = await api.call(`/says?${asked}`, { headers: { 'if-none-match': '"own"' } });
    expect(known.status).to.equal(304);
  });

  it('show their cache status to pages of other sites', async () => {
    const headers = { origin: 'https://page.example' };
    const answer = await api.call(border, { body: form({}, picture), headers });
    const exposed = answer.headers.get('access-control-expose-headers')?.split(',');
    expect(exposed).to.include.members(['etag', 'x-cache']);
    expect(answer.headers.get('vary')).to.equal('Origin');
  });

  it('are not of dry runs, nor of helpers that take no picture', async () => {
    for (const path of [`${border}?dryrun=1`, '/text/remove-stopwords?text=the+cat']) {
      const answer = await api.call(path);
      expect(answer.status).to.equal(200);
      expectNoReuse(answer);
    }
  });
});

describe('results of one gateway and another', () => {
  it('have the same tag by the same engine and plugin, wherever that lies, and another by another', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reuse-'));
    const picture = await readFile(new URL('../../../plugins/media/example.jpg', import.meta.url));
    /** Tags and statuses of a shipped helper and of one in this folder, each called twice. */
    async function ask(name: string, kind: string, env: Record<string, string> = {}) {
      await mkdir(join(folder, name));
      const input = "input: { type: 'object', properties: {} }";
      const handler = `handler: (_, { image }) => image.encode('${kind}')`;
      const source = `export default { summary: 'x', source: 'image', ${input}, ${handler} };`;
      await writeFile(join(folder, name, 'convert.mjs'), source);
      const api = await startTestGateway({ HELPER_PLUGINS: join(folder, name), ...env });
      const found = { tags: [] as (string | null)[], statuses: [] as (string | null)[] };
      for (const path of [border, '/convert']) {
        const first = await api.call(path, { body: form({}, picture) });
        const again = await api.call(path, { body: form({}, picture) });
        found.tags.push(first.headers.get('etag'));
        found.statuses.push(again.headers.get('x-cache'));
        expect(first.headers.get('x-cache')).to.equal('miss');
      }
      await api.close();
      return found;
    }
    const first = await ask('first', 'png');
    const uncached = await ask('same', 'png', { HELPER_CACHE_BYTES: '0' });
    const [jimp, jpg] = [await ask('jimp', 'png', { HELPER_IMAGE_ENGINE: 'jimp' }), await ask('jpg', 'jpg')];
    expect(uncached.tags).to.deep.equal(first.tags);
    expect([first.statuses, uncached.statuses]).to.deep.equal([
      ['hit', 'hit'],
      ['miss', 'miss'],
    ]);
    expect(jpg.tags[0]).to.equal(first.tags[0]);
    expect(new Set([...first.tags, ...jimp.tags, jpg.tags[1]]).size).to.equal(5);
    await rm(folder, { recursive: true });
  }).timeout(60_000);
});

const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';

describe('what a handler returns', () => {
  let api: TestGateway;

  before(async () => {
    ({ api } = await shareGateway());
  });

  for (const [where, path] of [
    ['in the pool', '/results/in-pool?kind='],
    ['on the main thread', '/results/in-line?kind='],
    ['in a dry run', '/results/rehearsed?dryrun=1&kind='],
  ] as const) {
    describe(where, () => {
      const call = (kind: string) => api.call(`${path}${encodeURIComponent(kind)}`);

      beforeEach(() => api.log.splice(0));

      /** What the log holds of the fault of this test's call; it is written when the answer has left. */
      async function logged(): Promise<string> {
        return JSON.stringify(await until(() => api.log.find(({ level }) => level === 50)));
      }

      it('may be text or bytes of a media type', async () => {
        for (const [kind, type, text] of [
          ['svg', 'image/svg+xml', svg],
          ['bytes', 'image/svg+xml', svg],
          ['page', 'text/html; charset=utf-8', '<p>Grüße</p>'],
        ] as const) {
          const { status, headers, bytes } = await call(kind);
          const sent = [status, headers.get('content-type'), new TextDecoder().decode(bytes)];
          expect(sent).to.deep.equal([200, type, text]);
        }
      });

      it('is data where it has a body and no type, written as its values themselves say', async () => {
        for (const [kind, data] of [
          ['body alone', { body: 'a letter', subject: 'hello' }],
          ['date', { at: '1970-01-01T00:00:00.000Z', url: 'https://a.example/' }],
        ] as const)
          expect((await call(kind)).json.data).to.deep.equal(data);
      });

      it('may bring headers with its bytes, in place of the gateway’s where they are not its own', async () => {
        const { status, headers } = await call('headers');
        expect(status).to.equal(200);
        expect(Object.fromEntries(headers)).to.include({
          'content-disposition': 'attachment; filename="a.svg"',
          'cache-control': 'public, max-age=60',
          etag: '"1"',
          'x-own': 'ü',
          'x-content-type-options': 'nosniff',
        });
        expect(headers.get('vary')).to.match(/accept/i);
      });

      it('is bounded as text, too', async () => {
        const { status, json } = await call('long');
        expect([status, json.error.code]).to.deep.equal([413, 'too_large']);
      });

      for (const [kind, reason] of [
        ['header of the gateway', /header \\"Set-Cookie\\" is the gateway's own/],
        ['header of two lines', /header \\"x-a\\" cannot be sent/],
        ['header that is a number', /header \\"x-a\\" must be a string, but is a number/],
        ['status', /status beside body and type/],
        ['another charset', /iso-8859-1/],
        ['response', /returned a Response; .*\{body: Uint8Array \| string, type/],
        ['stream', /returned a ReadStream/],
        ['body of a stream', /its body is a ReadStream/],
        ['map inside', /found\.0\.by is a Map/],
        ['function inside', /items\.0\.run is a function/],
        ['symbol inside', /kind is a symbol/],
        ['buffer inside', /hash is a Buffer/],
        ['data that becomes nothing', /returned an object whose toJSON gives undefined/],
      ] as const) {
        it(`is a fault that is logged where it would be lost: ${kind}`, async () => {
          const { status, json } = await call(kind);
          expect([status, json.error?.code]).to.deep.equal([500, 'internal']);
          expect(JSON.stringify(json)).not.to.include('secret');
          expect(await logged()).to.match(reason);
        });
      }

      it('and what it throws is logged whole, with its causes', async () => {
        expect((await call('chain')).status).to.equal(500);
        const line = await logged();
        expect(line).to.include('secret query').and.include('secret tries').and.include('secret type');
        expect(line).to.include('secret connection').and.include('ECONNREFUSED').and.include('TypeError');
      });
    });
  }
});
