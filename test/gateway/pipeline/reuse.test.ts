import { createHash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { createCache } from '../../../gateway/cache.js';
import {
  type CompleteCall,
  createResults,
  digestOf,
  digestOfFile,
  isNamed,
  type MadeResult,
  type ResultRequest,
  type ReuseParts,
  reuse,
  tagOf,
} from '../../../gateway/pipeline/reuse.js';
import { type Caller, CallState } from '../../../gateway/pipeline/stage.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import type { BodyAnswer } from '../../../pool/answer.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';

/** Seconds since 1970, and a half. */
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
  /** `If-None-Match`. */
  knows?: string;
}

const file = (text = 'a picture', others = {}) => ({
  bytes: Buffer.from(text),
  type: 'image/png',
  ...others,
});

function callOf({ tenant = 't', input = {}, files = { file: file() }, signedUntil, knows = '' }: Given) {
  const caller = { tenant: { id: tenant }, signedUntil } as Caller;
  const ticket = () => ({ cancelReservation() {} }) as ReturnType<CompleteCall['ticket']>;
  const ctx = { method: 'GET', get: (name: string) => (name === 'if-none-match' ? knows : '') };
  return { state: new CallState('id'), bodyBytes: 0, caller, ticket, input, files, ctx };
}

/** The stage before a last one that counts. */
function stage(helper = helperOf(), others: Partial<ReuseParts> = {}, answer: Partial<BodyAnswer> = {}) {
  const seen = { made: 0 };
  const parts = {
    results: createResults(createCache(1e6)),
    engine: ['1.0.0', 'sharp', '1'],
    ttlSeconds: 3600,
    configOf: () => ({}),
    now: () => now * 1000 + 500,
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
  return { ask, seen };
}

async function etagOf(given: Given = {}, helper?: Helper, others?: Partial<ReuseParts>): Promise<string> {
  return (await stage(helper, others).ask(given)).etag;
}

describe('reuse', () => {
  it('answers 304 to a client that has the picture, before any work and for every tenant', async () => {
    const { etag } = await stage().ask({ tenant: 'a', signedUntil: now + 10 });
    const { ask, seen } = stage();
    const { unchanged, size, headers } = await ask({ knows: `W/${etag}, "x"`, tenant: 'other' });
    expect([unchanged, size, seen.made]).to.deep.equal([true, 0, 0]);
    expect(headers).to.deep.equal({ etag, 'cache-control': 'private, no-store', 'x-cache': 'hit' });
    expect((await ask({ knows: '*' })).unchanged).to.equal(undefined);
    expect((await ask({ tenant: 'other' })).headers['x-cache'], 'made for another tenant').to.equal('miss');
    expect(seen.made).to.equal(2);
  });

  it('has another tag for all that goes into a picture', async () => {
    const config = { config: { key: { env: 'KEY', secret: true }, tone: { env: 'TONE' } } };
    const configured = helperOf({ source: 'image', ...config });
    const tables = helperOf({ files: { file: { kind: 'image' }, table: { kind: 'bytes' } } });
    const withTable = (others = {}) =>
      etagOf({ files: { file: file(), table: file('1,2', others) } }, tables);
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
      // A handler sees more of these than their content.
      withTable(),
      withTable({ name: 'x.csv' }),
      withTable({ type: 'text/csv' }),
    ]);
    expect(new Set(tags).size).to.equal(tags.length);
    const ofKey = (key: string) => etagOf({}, configured, { configOf: () => ({ key }) });
    expect(await ofKey('one'), 'a secret').to.equal(await ofKey('two'));
  });

  it('lets the answer of a signed url be cached as long as the operator says, and no longer than it is valid', async () => {
    const { ask } = stage();
    for (const [left, seconds] of Object.entries({ 600: 599, 86400: 3600, 0: 0, '-100': 0 })) {
      const { headers } = await ask({ signedUntil: now + Number(left) });
      expect(headers['cache-control']).to.equal(`public, max-age=${seconds}`);
    }
    expect((await ask()).headers['cache-control']).to.equal('private, no-store');
  });

  it('stores nothing for which its helper says no-store', async () => {
    const { ask, seen } = stage(undefined, undefined, { headers: { 'cache-control': 'private, no-store' } });
    await ask();
    expect((await ask()).headers).to.deep.equal({ 'cache-control': 'private, no-store' });
    expect(seen.made).to.equal(2);
  });

  it('leaves a helper of unknown version alone', async () => {
    const { ask, seen } = stage(helperOf(undefined, { version: undefined as never }));
    for (let round = 0; round < 2; round++)
      expect(await ask({ knows: '"x"' })).to.deep.include({ headers: {}, size: 1 });
    expect(seen.made).to.equal(2);
  });
});

describe('results', () => {
  const picture = (bytes: Uint8Array<ArrayBuffer>): MadeResult => {
    const answer: BodyAnswer = { kind: 'bytes', bytes, type: 'image/png' };
    return { answer, common: answer };
  };
  const iteration = () => new Promise(setImmediate);

  /** Two calls for one result, the first of which makes it until the test ends that. */
  async function two(results = createResults(createCache(1e6))) {
    const clients = [new AbortController(), new AbortController()] as const;
    let end: (made: MadeResult) => void = () => undefined;
    let begun = 0;
    const requests = clients.map(({ signal }): ResultRequest => {
      const work = () => {
        begun += 1;
        return new Promise<MadeResult>((resolve) => (end = resolve));
      };
      return { signal, onWait: () => undefined, work };
    });
    const [first, second] = requests.map((request) => results.make('a', 'tag', request));
    await iteration();
    return { clients, first, second, end: (made: MadeResult) => end(made), begun: () => begun };
  }

  it('that come to an end after their client has gone serve those who wait', async () => {
    const { clients, second, end, begun } = await two();
    clients[0].abort();
    end(picture(Uint8Array.of(1)));
    expect((await second)?.found).to.equal('shared');
    expect(begun()).to.equal(1);
  });

  it('are not waited for by a client that has gone', async () => {
    const { clients, second, begun } = await two();
    clients[1].abort(new Error('gone'));
    expect(await second?.catch((error) => error.message)).to.equal('gone');
    expect(begun()).to.equal(1);
  });

  it('count with all of their memory', async () => {
    const cache = createCache(1e6);
    const { first, end } = await two(createResults(cache));
    end(picture(new Uint8Array(100_000).subarray(0, 1)));
    await first;
    expect(cache.stats().bytes).to.be.above(100_000);
  });
});

/** Few letters, so that pairs are alike more often than not. */
const word = fc.string({ unit: fc.constantFrom('a', '"', ',', ':', '[', '{', '\\', '1'), maxLength: 3 });
const scalars = [0, -0, 1, 1.5, '1', '0', '-0', true, 'true', false, null, 'null', Number.POSITIVE_INFINITY];
const { input } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, word, fc.constantFrom(...scalars), tie('list'), tie('input')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  input: fc.dictionary(word, tie('value'), { maxKeys: 3, noNullPrototype: true }),
}));

function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const fields = Object.entries(value).map(([name, each]) => [name, reversed(each)]);
  return Object.fromEntries(fields.toReversed());
}

describe('tagOf', () => {
  it('differs for any two inputs that differ, and for no others', () => {
    const property = fc.property(input, input, (a, b) => (tagOf(a) === tagOf(b)) === isDeepStrictEqual(a, b));
    fc.assert(property, { numRuns: 5_000 });
  });

  it('is the same in whatever order the fields come, at any depth, and fits into a header', () => {
    fc.assert(fc.property(input, (each) => tagOf(reversed(each)) === tagOf(each)));
    expect(tagOf({ text: '"é\u{1f600}\ud800' })).to.match(/^[\w-]{43}$/);
  });
});

describe('the digest of bytes', () => {
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64url');

  it('is SHA-256, wherever they are hashed, of the view alone', async () => {
    const memory = randomBytes(3_000_000);
    for (const size of [0, 1, 128 * 1024, 128 * 1024 + 1, 2_900_000]) {
      const view = memory.subarray(1000, 1000 + size);
      expect(await digestOf(view), `${size} bytes`).to.equal(sha256(view));
    }
  });

  it('is made once of what several calls use', async () => {
    const bytes = randomBytes(1_000_000);
    const shared = { bytes, type: 'image/png', shared: true } as const;
    const first = digestOfFile(shared);
    expect(digestOfFile({ ...shared, name: 'other' })).to.equal(first);
    expect(await first).to.equal(sha256(bytes));
    expect(digestOfFile({ bytes, type: 'image/png' })).not.to.equal(first);
  });
});

describe('If-None-Match', () => {
  it('names an entity tag in a list, by weak comparison', () => {
    const named = ['"abc"', 'W/"abc"', '"x", "abc"', '"x",W/"abc" , "y"', '"a,b","abc"', '"","abc"'];
    const others = ['', '*', 'abc', '"ABC"', '"abcd"', '"ab" "c"', 'W/"x"', '"abc', "'abc'", '"x" abc'];
    for (const etag of ['"abc"', 'W/"abc"'])
      expect([...others, ...named].filter((list) => isNamed(list, etag))).to.deep.equal(named);
  });
});
