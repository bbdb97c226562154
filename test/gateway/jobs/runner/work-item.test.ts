import { expect } from 'chai';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { resultStore } from '../../../../gateway/jobs/results/result-store.js';
import { createRetryPolicy, type RetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import { createItemResults, StoreGivenUp } from '../../../../gateway/jobs/runner/work-item.js';
import { rejection } from '../../keys/key-store-contract.js';

const away = () => new StoreError(resultStore, new Error('connect ECONNREFUSED'));
const full = () => new StoreError(resultStore, Object.assign(new Error('no space'), { code: 'ENOSPC' }));
const large = Buffer.alloc(1_000);
const small = Buffer.alloc(10);

describe('jobs/runner/item-results', () => {
  let now: number;
  let tries: number;
  let held: number;
  let reads: number;
  /** What a try fails with; it takes so long. */
  let fault: ((bytes: number) => Error | undefined) | undefined;
  let takesMs: number;
  let retryPolicy: RetryPolicy;
  let results: ReturnType<typeof createItemResults>;

  beforeEach(() => {
    [now, tries, held, reads, takesMs, fault] = [0, 0, 0, 0, 1_000, undefined];
    retryPolicy = createRetryPolicy({ logger: { info() {}, warn() {} }, firstMs: 1, longestMs: 1 });
    async function use(bytes: number): Promise<undefined> {
      tries += 1;
      now += takesMs;
      const error = fault?.(bytes);
      if (error) throw error;
      return undefined;
    }
    results = createItemResults({
      results: { get: () => use(0), put: (_, bytes) => use(bytes.length) },
      store: {
        async held() {
          reads += 1;
          return { inputs: 0, results: held, aResult: 0 };
        },
      },
      retryPolicy,
      mostBytes: 100,
      now: () => now,
    });
  });

  describe('a store that is away', () => {
    it('is waited for, for less than a minute', async () => {
      fault = () => (tries < 20 ? away() : undefined);
      await results.put('a', large);
      expect(tries).to.equal(20);
      fault = away;
      const began = now;
      expect(await rejection(results.get('a')))
        .to.be.instanceOf(StoreGivenUp)
        .with.property('code', 'storage_unavailable');
      expect(now - began).to.be.within(45_000, 60_000);
    });

    it('is not waited for longer because it answers late', async () => {
      takesMs = 45_000;
      fault = away;
      expect(await rejection(results.get('a'))).to.be.instanceOf(StoreGivenUp);
      expect([tries, now]).to.deep.equal([1, 45_000]);
    });

    it('is asked once when it has been away for a minute, and waited for again after that, or long after', async () => {
      fault = away;
      await rejection(results.put('a', large));
      tries = 0;
      for (let item = 1; item <= 5; item += 1) {
        expect(await rejection(results.put('b', small))).to.be.instanceOf(StoreGivenUp);
        expect(tries).to.equal(item);
      }
      fault = undefined;
      await results.put('c', small);
      fault = away;
      for (const later of [0, 600_000]) {
        now += later;
        tries = 0;
        await rejection(results.put('a', large));
        expect(tries).to.be.above(30);
      }
    });

    it('ends no item when the process is stopped', async () => {
      fault = () => {
        if (tries === 3) retryPolicy.stop();
        return away();
      };
      expect(await rejection(results.put('a', large))).not.to.be.instanceOf(StoreGivenUp);
    });
  });

  it('does not believe that a full store is back because it has room for less', async () => {
    fault = (bytes) => (bytes > 100 ? full() : undefined);
    await rejection(results.put('a', large));
    await results.put('b', small);
    await results.get('b');
    tries = 0;
    expect(await rejection(results.put('c', large))).to.be.instanceOf(StoreGivenUp);
    expect(tries).to.equal(1);
    expect(((await rejection(results.put('c', large))) as Error).message).to.include('has no room');
  });

  describe('what a tenant’s results may hold', () => {
    it('counts what is under way and what is kept', async () => {
      held = 50;
      const [one, two] = [await results.reserve('a', 30), await results.reserve('a', 20)];
      expect(await rejection(results.reserve('a', 1))).to.include({ code: 'too_large', status: 413 });
      await results.reserve('b', 50);
      one(false);
      two(true);
      (await results.reserve('a', 30))(true);
      expect(await rejection(results.reserve('a', 1))).to.include({ code: 'too_large' });
    });

    it('is read again after a second, and not for each item', async () => {
      for (let item = 0; item < 50; item += 1) (await results.reserve('a', 1))(true);
      expect(reads).to.equal(1);
      held = 100;
      now += 1_000;
      expect(await rejection(results.reserve('a', 1))).to.include({ code: 'too_large' });
      held = 0;
      now += 1_000;
      await results.reserve('a', 100);
    });
  });
});
