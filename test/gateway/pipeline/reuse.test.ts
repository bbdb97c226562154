import { expect } from 'chai';
import { createCache } from '../../../gateway/cache.js';
import {
  type CompleteCall,
  createResults,
  type MadeResult,
  type ResultRequest,
  type Results,
  type ReuseParts,
  reuse,
} from '../../../gateway/pipeline/reuse.js';
import { type Caller, CallState } from '../../../gateway/pipeline/stage.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import type { Answer, BodyAnswer } from '../../../pool/answer.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';

const now = 1_000_000_000;

function helperOf(declared: object = { source: 'image' }, others: Partial<Helper> = {}): Helper {
  const declaration = describeDeclaration({ summary: 'x', input: {}, ...declared });
  const parameters = {} as Helper['parameters'];
  return { id: 'media/x', file: '', url: '', version: '1', declaration, parameters, ...others };
}

interface Given {
  tenant?: string;
  input?: Record<string, unknown>;
  files?: CompleteCall['files'];
  signedUntil?: number;
  /** `If-None-Match` of a call by HTTP; undefined is another's. */
  knows?: string | undefined;
}

const file = (text = 'a picture', others = {}) => ({
  bytes: Buffer.from(text),
  type: 'image/png',
  ...others,
});

function callOf({ tenant = 't', input = {}, files = { file: file() }, signedUntil, knows = '' }: Given) {
  const caller = {
    tenant: { id: tenant, name: tenant, weight: 1, limits: {} } as Caller['tenant'],
    keyId: 'k',
    scopes: null,
    ...(signedUntil === undefined ? {} : { signedUntil }),
  };
  const ticket = {
    reserve: async () => undefined,
    cancelReservation() {},
    run: () => Promise.reject(new Error('no task')),
    release() {},
  };
  const ctx = { method: 'GET', get: (name: string) => (name === 'if-none-match' ? knows : '') };
  return { state: new CallState('id'), bodyBytes: 0, caller, ticket: () => ticket, input, files, ctx };
}

/** A stage that is asked again and again, before a last one that counts. */
function stage(helper = helperOf(), others: Partial<ReuseParts> = {}, answer: Partial<BodyAnswer> = {}) {
  const seen = { made: 0 };
  const parts = {
    results: createResults<Answer>(createCache(1e6)),
    engine: ['1.0.0', 'sharp', '1'],
    ttlSeconds: 3600,
    configOf: () => ({}),
    now: () => now * 1000,
    ...others,
  };
  const last = reuse<CompleteCall>(helper, parts, async () => {
    seen.made += 1;
    return { kind: 'bytes', bytes: new Uint8Array([seen.made]), type: 'image/png', ...answer };
  });
  async function ask(given: Given = {}) {
    const call = callOf(given);
    const { headers = {}, bytes } = (await last(call)) as BodyAnswer;
    return { headers, size: bytes.byteLength, etag: headers.etag ?? '', unchanged: call.state.unchanged };
  }
  return { ask, seen, last };
}

async function etagOf(given: Given = {}, helper?: Helper, others?: Partial<ReuseParts>): Promise<string> {
  return (await stage(helper, others).ask(given)).etag;
}

describe('reuse', () => {
  it('makes a picture once, and says of each answer how it was come by', async () => {
    const { ask, seen } = stage();
    const [first, again] = [await ask(), await ask()];
    expect([first.headers['x-cache'], again.headers['x-cache'], seen.made]).to.deep.equal(['miss', 'hit', 1]);
    expect(again.etag)
      .to.equal(first.etag)
      .and.to.match(/^"[\w-]{43}"$/);
  });

  it('tells a client that has it so, before any work and for every tenant', async () => {
    const { etag } = await stage().ask();
    const { ask, seen } = stage();
    const { unchanged, size, headers } = await ask({ knows: `W/${etag}, "x"`, tenant: 'other' });
    expect([unchanged, size, seen.made]).to.deep.equal([true, 0, 0]);
    expect(headers).to.deep.equal({ etag, 'cache-control': 'private, no-store', 'x-cache': 'hit' });
    expect((await ask({ knows: '*' })).unchanged).to.equal(undefined);
  });

  it('keeps tenants apart, whose tags are the same', async () => {
    const { ask, seen } = stage();
    const [own, other] = [await ask({ tenant: 'a' }), await ask({ tenant: 'b' })];
    expect(other.etag).to.equal(own.etag);
    expect([other.headers['x-cache'], seen.made]).to.deep.equal(['miss', 2]);
  });

  it('tells one picture from another by all that goes into it', async () => {
    const config = { config: { key: { env: 'KEY', secret: true }, tone: { env: 'TONE' } } };
    const configured = helperOf({ source: 'image', ...config });
    const tags = await Promise.all([
      etagOf(),
      etagOf({ input: { width: 1 } }),
      etagOf({ input: { width: '1' } }),
      etagOf({ files: { file: file('another') } }),
      etagOf({ files: { file: file(), logo: file() } }),
      etagOf({}, helperOf(undefined, { version: '2' })),
      etagOf({}, helperOf(undefined, { id: 'media/y' })),
      etagOf({}, helperOf(), { engine: ['1.0.0', 'jimp', '1'] }),
      etagOf({}, helperOf(), { engine: ['1.0.0', 'sharp', '2'] }),
      etagOf({}, configured, { configOf: () => ({ tone: 'warm' }) }),
    ]);
    expect(new Set(tags).size).to.equal(tags.length);
  });

  it('is not told apart by what makes no difference', async () => {
    const tags = await Promise.all([
      etagOf({ input: { width: 1, color: 'red' } }),
      etagOf({ input: { color: 'red', width: 1 }, tenant: 'b', signedUntil: now + 10 }),
      etagOf({ input: { color: 'red', width: 1, url: 'https://example.com/x.png' } }),
      etagOf({
        input: { color: 'red', width: 1 },
        files: { file: file('a picture', { name: 'x', type: '' }) },
      }),
    ]);
    expect(new Set(tags).size).to.equal(1);
  });

  it('puts nothing that is secret into a tag', async () => {
    const helper = helperOf({ source: 'image', config: { key: { env: 'KEY', secret: true } } });
    const of = (key: string) => etagOf({}, helper, { configOf: () => ({ key }) });
    expect(await of('one')).to.equal(await of('two'));
  });

  it('knows of plain files what a handler is told of them', async () => {
    const helper = helperOf({ files: { file: { kind: 'image' }, table: { kind: 'bytes' } } });
    const of = (others: object) => etagOf({ files: { file: file(), table: file('1,2', others) } }, helper);
    const tags = await Promise.all([of({}), of({ name: 'x.csv' }), of({ type: 'text/csv' })]);
    expect(new Set(tags).size).to.equal(3);
  });

  it('lets the answer of a signed url be kept no longer than that holds', async () => {
    const { ask } = stage();
    const control = async (given: Given) => (await ask(given)).headers['cache-control'];
    expect(await control({ signedUntil: now + 600 })).to.equal('public, max-age=600');
    const { etag } = await ask();
    expect(await control({ signedUntil: now + 86_400, knows: etag })).to.equal('public, max-age=3600');
    expect(await control({})).to.equal('private, no-store');
  });

  it('leaves to its helper what it says itself, but for how the answer was come by', async () => {
    const headers = { etag: '"own"', 'cache-control': 'max-age=5', 'x-cache': 'own', 'x-more': '1' };
    const { ask, seen } = stage(undefined, undefined, { headers });
    expect((await ask()).headers).to.deep.equal({ ...headers, 'x-cache': 'miss' });
    const known = await ask({ knows: '"own"' });
    expect([known.unchanged, known.headers['x-cache'], seen.made]).to.deep.equal([true, 'hit', 1]);
  });

  it('keeps nothing that its helper wants kept nowhere', async () => {
    const { ask, seen } = stage(undefined, undefined, { headers: { 'cache-control': 'private, no-store' } });
    await ask();
    expect((await ask()).headers).to.deep.equal({ 'cache-control': 'private, no-store' });
    expect(seen.made).to.equal(2);
  });

  it('gives an agent what was made for a page, without conditions', async () => {
    const { ask, last, seen } = stage();
    await ask();
    const { ctx: _, ...call } = callOf({});
    expect(((await last(call)) as BodyAnswer).bytes).to.deep.equal(new Uint8Array([1]));
    expect(seen.made).to.equal(1);
  });

  for (const [what, helper] of [
    ['that takes no picture', helperOf({})],
    ['that says so', helperOf({ source: 'image', cache: false })],
    ['of which no version is known', helperOf(undefined, { version: undefined as never })],
  ] as const) {
    it(`has nothing to do with a helper ${what}`, async () => {
      const { ask, seen } = stage(helper);
      await ask();
      expect(await ask({ knows: '"x"' })).to.deep.include({ headers: {}, size: 1 });
      expect(seen.made).to.equal(2);
    });
  }
});

const picture = (byte: number): BodyAnswer => ({
  kind: 'bytes',
  bytes: new Uint8Array([byte]),
  type: 'image/png',
});
const common = (byte: number): MadeResult<unknown> => ({ answer: picture(byte), common: picture(byte) });

/** A call whose work ends when the test says so. */
function held() {
  const gone = new AbortController();
  let end: (made: MadeResult<unknown>) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const held = {
    begun: 0,
    waited: 0,
    gone,
    end: (made: MadeResult<unknown>) => end(made),
    fail: (error: Error) => fail(error),
    call: {
      signal: gone.signal,
      onWait: () => {
        held.waited += 1;
      },
      work() {
        held.begun += 1;
        return new Promise((resolve, reject) => {
          end = resolve;
          fail = reject;
        });
      },
    } satisfies ResultRequest<unknown>,
  };
  return held;
}

const turns = () => new Promise((resolve) => setImmediate(resolve));

describe('results', () => {
  let results: Results<unknown>;
  beforeEach(() => {
    results = createResults(createCache(1e6));
  });

  it('that nobody else may have are made by each call for itself, all at once', async () => {
    const calls = [held(), held(), held()];
    const made = calls.map(({ call }) => results.make('a', 'tag', call));
    await turns();
    calls[0]?.end({ answer: 'own 0', common: undefined });
    await turns();
    expect(calls.map(({ begun }) => begun)).to.deep.equal([1, 1, 1]);
    for (const [at, { end }] of calls.entries()) end({ answer: `own ${at}`, common: undefined });
    const ended = await Promise.all(made);
    expect(ended.map(({ made: { answer }, found }) => [answer, found])).to.deep.equal([
      ['own 0', 'miss'],
      ['own 1', 'miss'],
      ['own 2', 'miss'],
    ]);
    expect(results.find('a', 'tag')).to.equal(undefined);
  });

  it('that come to an end after their client has gone serve those who wait', async () => {
    const calls = [held(), held()];
    const made = calls.map(({ call }) => results.make('a', 'tag', call));
    await turns();
    calls[0]?.gone.abort();
    calls[0]?.end(common(1));
    expect((await made[1])?.found).to.equal('shared');
    expect(calls[1]?.begun).to.equal(0);
  });

  it('are waited for by nobody who has gone', async () => {
    const calls = [held(), held()];
    void results.make('a', 'tag', (calls[0] as ReturnType<typeof held>).call);
    const second = results.make('a', 'tag', (calls[1] as ReturnType<typeof held>).call);
    await turns();
    calls[1]?.gone.abort(new Error('gone'));
    expect(await second.catch((error) => error.message)).to.equal('gone');
    expect(calls[1]?.begun).to.equal(0);
  });

  it('count with all of their memory', async () => {
    const cache = createCache(1e6);
    const call = held();
    const made = createResults(cache).make('a', 'tag', call.call);
    await turns();
    const bytes = new Uint8Array(100_000).subarray(0, 1);
    const result: BodyAnswer = { kind: 'bytes', bytes, type: 'image/png' };
    call.end({ answer: result, common: result });
    await made;
    expect(cache.stats().bytes).to.be.above(100_000);
  });
});
