import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { until } from '../needs.js';
import { type CallInit, gauge, operatorToken, shareGateway, type TestGateway } from './harness.js';

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

  before(async () => {
    const noise = { type: 'gaussian' as const, mean: 128, sigma: 60 };
    const create = { width: 300, height: 220, channels: 3 as const, background: '#3060c0', noise };
    picture = await sharp({ create }).jpeg({ quality: 100 }).toBuffer();
    // Hashed as soon as it has come, and large enough for its place to be asked for before.
    expect(picture.length).to.be.within(66_000, 128_000);
    ({ api, origin } = await shareGateway((_, response) => void response.end(picture)));
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reuse-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const runs = async () => (await readFile(join(folder, 'runs'), 'utf8').catch(() => '')).length;
  const open = () => writeFile(join(folder, 'open'), '');
  const gated = (init: CallInit = {}, mood = 'good') =>
    api.call('/gated', { body: form({ folder, mood }, picture), ...init });
  const gaugeOf = (name: string) => gauge(api.gateway.connectUrl, name);
  /** Uploads that have come whole and are held; what stands around a picture in a form is little beside it. */
  const held = async () =>
    (await gaugeOf('arriving')) === 0 && Math.floor((await gaugeOf('input_bytes')) / picture.length);

  it('have one tag, however they were asked for', async () => {
    const query = `?color=RED&width=3&url=${encodeURIComponent(`${origin}/a`)}`;
    const answers = [
      await api.call(`${border}${query}`),
      await api.call(`/img/add-border?url=${encodeURIComponent(`${origin}/b`)}&width=3&color=%23f00`),
      await api.call(border, { body: form({ color: 'red', width: '3' }, picture, 'another name') }),
      await api.call(border, { body: { color: 'red', width: 3, url: `${origin}/c`, format: 'PNG' } }),
      await api.call(`${border}${query}`, { method: 'HEAD' }),
    ];
    expect(answers.map(({ headers }) => headers.get('x-cache'))).to.deep.equal([
      'miss',
      ...Array(4).fill('hit'),
    ]);
    const etags = new Set(answers.map(({ headers }) => headers.get('etag')));
    expect([...etags])
      .to.have.length(1)
      .and.match(/^"[\w-]{43}"$/);
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).to.equal('private, no-store');
      expect(headers.get('content-length')).to.equal(String(answers[0]?.bytes.length));
    }
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
    for (const known of [
      await api.call(path, { headers }),
      await api.call(path, { headers, method: 'HEAD' }),
    ]) {
      expect([known.status, known.bytes.length]).to.deep.equal([304, 0]);
      expect(known.headers.get('etag')).to.equal(etag);
      expect(known.headers.get('x-cache')).to.equal('hit');
      expect(known.headers.get('cache-control')).to.equal('private, no-store');
      expect(known.headers.get('x-request-id')).to.be.a('string');
      expect(known.headers.get('content-type')).to.equal(null);
    }
    expect([await runs(), (await callsSoFar()) - before]).to.deep.equal([1, 2]);
    expect((await api.call(path, { headers: { 'if-none-match': '"other"' } })).status).to.equal(200);
    const posted = await gated({ headers });
    expect([posted.status, posted.headers.get('x-cache')], 'a POST has no conditions').to.deep.equal([
      200,
      'hit',
    ]);
    expect(posted.bytes).to.deep.equal(first.bytes);
  });

  const callsSoFar = async () => {
    const headers = { authorization: `Bearer ${operatorToken}` };
    const text = await (await fetch(new URL('/metrics', api.gateway.connectUrl), { headers })).text();
    return Number(/^helper_gateway_calls_total\{service="gated",code="ok"\} (\d+)$/m.exec(text)?.[1]);
  };

  it('are made once for 50 calls at once, of which one alone holds a place', async () => {
    const calls = Array.from({ length: 50 }, () => gated());
    await until(async () => (await held()) === 50 && (await runs()) === 1);
    expect(await gaugeOf('pool_places')).to.equal(1);
    await open();
    const answers = await Promise.all(calls);
    const words = answers.map(({ status, headers }) => `${status} ${headers.get('x-cache')}`);
    expect(words.sort()).to.deep.equal(['200 miss', ...Array(49).fill('200 shared')]);
    expect(new Set(answers.map(({ bytes }) => Buffer.from(bytes).toString('base64'))).size).to.equal(1);
    expect(await runs()).to.equal(1);
    const times = api.log.filter(({ service }) => service === 'gated');
    expect(new Set(times.map(({ request_id }) => request_id)).size).to.equal(times.length);
  });

  it('that fail tell each call so as its own', async () => {
    const calls = Array.from({ length: 5 }, () => gated({}, 'bad'));
    await until(async () => (await held()) === 5 && (await runs()) === 1);
    await open();
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(5).fill(500));
    expect(new Set(answers.map(({ json }) => json.meta.request_id)).size).to.equal(5);
    for (const { headers } of answers) {
      expect([headers.get('etag'), headers.get('x-cache')]).to.deep.equal([null, null]);
      expect(headers.get('cache-control')).to.equal('no-store');
    }
    expect(await runs()).to.equal(1);
    await gated({}, 'bad');
    expect(await runs()).to.equal(2);
  });

  it('that are data are made for each call', async () => {
    const calls = Array.from({ length: 3 }, () => gated({}, 'data'));
    await until(async () => (await held()) === 3 && (await runs()) === 1);
    await open();
    for (const { json, headers } of await Promise.all(calls)) {
      expect(json.data).to.deep.equal({ width: 300 });
      expect([headers.get('etag'), headers.get('x-cache')]).to.deep.equal([null, null]);
    }
    expect(await runs()).to.equal(3);
  });

  it('go on in another’s turn when the client goes away in whose turn they were to be made', async () => {
    // The one thread is taken, so that the first of the calls waits in the line.
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
    const words = (await Promise.all(calls)).map(({ status, headers }) => [status, headers.get('x-cache')]);
    expect(words.sort()).to.deep.equal([
      [200, 'miss'],
      [200, 'shared'],
    ]);
    expect(await runs()).to.equal(1);
    expect((await before).status).to.equal(200);
    await rm(other, { recursive: true });
  });

  it('of which more is made than the input are neither kept nor tagged', async () => {
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
    expect([one?.headers.get('etag'), one?.headers.get('x-cache')]).to.deep.equal([null, null]);
    expect(one?.headers.get('cache-control')).to.equal('no-store');
  });

  it('are told by the tag that their helper gives them', async () => {
    const init = { body: form({ etag: '"own"', control: 'max-age=5' }, picture) };
    const own = await api.call('/says', init);
    expect(['etag', 'cache-control', 'x-cache'].map((name) => own.headers.get(name))).to.deep.equal([
      '"own"',
      'max-age=5',
      'miss',
    ]);
    const asked = new URLSearchParams({ etag: '"own"', control: 'max-age=5', url: `${origin}/p` });
    const known = await api.call(`/says?${asked}`, { headers: { 'if-none-match': '"own"' } });
    expect(known.status).to.equal(304);
  });

  it('say to pages of other sites how they were come by', async () => {
    const headers = { origin: 'https://page.example' };
    const answer = await api.call(border, { body: form({}, picture), headers });
    expect(answer.headers.get('access-control-expose-headers')?.split(',')).to.include.members([
      'etag',
      'x-cache',
    ]);
    expect(answer.headers.get('vary')).to.equal('Origin');
  });

  it('are not of dry runs, nor of helpers that take no picture', async () => {
    const others = [
      await api.call(`${border}?dryrun=1`),
      await api.call('/text/remove-stopwords?text=the+cat'),
    ];
    for (const { status, headers } of others) {
      expect(status).to.equal(200);
      expect([headers.get('etag'), headers.get('x-cache')]).to.deep.equal([null, null]);
      expect(headers.get('cache-control')).to.equal('no-store');
    }
  });
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

      async function sent(kind: string): Promise<[number, string | null, string]> {
        const { status, headers, bytes } = await call(kind);
        return [status, headers.get('content-type'), new TextDecoder().decode(bytes)];
      }

      beforeEach(() => api.log.splice(0));

      /** What the log holds of the fault of this test's call; it is written when the answer has left. */
      async function logged(): Promise<string> {
        return JSON.stringify(await until(() => api.log.find(({ level }) => level === 50)));
      }

      it('may be text or bytes of a media type', async () => {
        expect(await sent('svg')).to.deep.equal([200, 'image/svg+xml', svg]);
        expect(await sent('bytes')).to.deep.equal([200, 'image/svg+xml', svg]);
        expect(await sent('page')).to.deep.equal([200, 'text/html; charset=utf-8', '<p>Grüße</p>']);
      });

      it('may be an object with a body and no type, which is data', async () => {
        const { status, json } = await call('body alone');
        expect([status, json.data]).to.deep.equal([200, { body: 'a letter', subject: 'hello' }]);
      });

      it('may hold what says itself how it is written as JSON', async () => {
        const { status, json } = await call('date');
        const data = { at: '1970-01-01T00:00:00.000Z', url: 'https://a.example/' };
        expect([status, json.data]).to.deep.equal([200, data]);
      });

      it('may bring headers with its bytes, in place of the gateway’s where they are not its own', async () => {
        const { status, headers } = await call('headers');
        expect(status).to.equal(200);
        expect(headers.get('content-disposition')).to.equal('attachment; filename="a.svg"');
        expect(headers.get('cache-control')).to.equal('public, max-age=60');
        expect(headers.get('etag')).to.equal('"1"');
        expect(headers.get('vary')).to.match(/accept/i);
        expect(headers.get('x-own')).to.equal('ü');
        expect(headers.get('x-content-type-options')).to.equal('nosniff');
      });

      it('is bounded as text, too', async () => {
        const { status, json } = await call('long');
        expect([status, json.error.code]).to.deep.equal([413, 'too_large']);
      });

      for (const [kind, told] of [
        ['header of the gateway', /header \\"Set-Cookie\\" is the gateway's own/],
        ['header of two lines', /header \\"x-a\\" cannot be sent/],
        ['header that is a number', /header \\"x-a\\" must be a string, but is a number/],
        ['status', /status beside body and type/],
        ['no media type', /media type of its body, such as image\/png, but its type is \\"svg\\"/],
        ['another charset', /iso-8859-1/],
        ['response', /returned a Response; .*\{body: Uint8Array \| string, type/],
        ['stream', /returned a ReadStream/],
        ['body of a stream', /its body is a ReadStream/],
        ['map inside', /found\.0\.by is a Map/],
        ['promise inside', /later is a Promise/],
        ['function inside', /items\.0\.run is a function/],
        ['symbol inside', /kind is a symbol/],
        ['buffer inside', /hash is a Buffer/],
        ['error inside', /failed is an Error/],
        ['data that becomes nothing', /returned an object whose toJSON gives undefined/],
      ] as const) {
        it(`is a fault that the log tells of where it would be lost: ${kind}`, async () => {
          const { status, json } = await call(kind);
          expect([status, json.error?.code]).to.deep.equal([500, 'internal']);
          expect(JSON.stringify(json)).not.to.include('secret');
          expect(await logged()).to.match(told);
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
