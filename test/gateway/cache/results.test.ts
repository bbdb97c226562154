import { expect } from 'chai';
import { createCache } from '../../../gateway/cache/cache.js';
import { createResults, type Made, type Results, type Wanting } from '../../../gateway/cache/results.js';
import type { BodyAnswer } from '../../../pool/body-answer.js';

const picture = (byte: number): BodyAnswer => ({
  kind: 'bytes',
  bytes: new Uint8Array([byte]),
  type: 'image/png',
});
const common = (byte: number): Made<unknown> => ({ answer: picture(byte), common: picture(byte) });

/** A call whose work ends when the test says so. */
function held() {
  const gone = new AbortController();
  let end: (made: Made<unknown>) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const held = {
    begun: 0,
    waited: 0,
    gone,
    end: (made: Made<unknown>) => end(made),
    fail: (error: Error) => fail(error),
    call: {
      gone: {
        get ended() {
          return gone.signal.aborted;
        },
        signal: gone.signal,
      },
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
    } satisfies Wanting<unknown>,
  };
  return held;
}

const turns = () => new Promise((resolve) => setImmediate(resolve));

describe('results', () => {
  let results: Results<unknown>;
  beforeEach(() => {
    results = createResults(createCache(1e6));
  });

  it('are made once for all calls of a tenant that come meanwhile, and are found by those that come later', async () => {
    const [first, second] = [held(), held()];
    const made = [first, second].map(({ call }) => results.make('a', 'tag', call));
    await turns();
    expect([first.begun, second.begun, first.waited, second.waited]).to.deep.equal([1, 0, 0, 1]);
    const result = common(1);
    first.end(result);
    expect(await Promise.all(made)).to.deep.equal([
      { made: result, found: 'miss' },
      { made: result, found: 'shared' },
    ]);
    expect(results.find('a', 'tag')).to.equal(result.common);
  });

  it('are nobody else’s: another tenant neither finds them nor waits for them', async () => {
    const [own, other] = [held(), held()];
    const [made, others] = [results.make('a', 'tag', own.call), results.make('b', 'tag', other.call)];
    await turns();
    expect([own.begun, other.begun, other.waited]).to.deep.equal([1, 1, 0]);
    own.end(common(1));
    await made;
    expect(results.find('b', 'tag')).to.equal(undefined);
    other.end(common(2));
    expect((await others).made.common?.bytes).to.deep.equal(new Uint8Array([2]));
    expect(results.find('a', 'tag')?.bytes).to.deep.equal(new Uint8Array([1]));
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

  it('that fail do so for all who wait, and are tried anew by the next', async () => {
    const calls = [held(), held()];
    const made = calls.map(({ call }) => results.make('a', 'tag', call).catch((error) => error.message));
    await turns();
    calls[0]?.fail(new Error('no picture'));
    expect(await Promise.all(made)).to.deep.equal(['no picture', 'no picture']);
    const next = held();
    void results.make('a', 'tag', next.call);
    await turns();
    expect([next.begun, calls[1]?.begun]).to.deep.equal([1, 0]);
  });

  it('that are given up with their client are made in the next one’s turn', async () => {
    const calls = [held(), held(), held()];
    const made = calls.map(({ call }) => results.make('a', 'tag', call).catch(() => 'gone'));
    await turns();
    calls[0]?.gone.abort();
    calls[0]?.fail(new Error('given up in the line'));
    await turns();
    expect(calls.map(({ begun }) => begun)).to.deep.equal([1, 1, 0]);
    const result = common(1);
    calls[1]?.end(result);
    expect(await Promise.all(made)).to.deep.equal([
      'gone',
      { made: result, found: 'miss' },
      { made: result, found: 'shared' },
    ]);
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
