import { expect } from 'chai';
import fc from 'fast-check';
import { FairQueue, type StopReason } from '../../pool/fair-queue.js';
import { PlainFairQueue } from './plain-fair-queue.js';

const tenant = fc.constantFrom<string[]>('a', 'b', 'c', 'd');
const milliseconds = fc.integer({ min: 0, max: 100 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: tenant, weight: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 4, arbitrary: fc.record({ shift: milliseconds }) },
  fc.record({ shift: milliseconds, named: tenant }),
  { weight: 2, arbitrary: fc.record({ settle: fc.nat(), spent: milliseconds }) },
  fc.record({ remove: fc.nat() }),
  fc.record({ stop: tenant }),
  fc.record({ go: tenant }),
  fc.record({ stopAll: fc.uniqueArray(tenant) }),
  fc.record({ goAll: fc.constant(true) }),
);

describe('the fair queue beside a plain one', () => {
  it('hands out the same items in the same order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        const stopped = new Set<string>();
        let concerned: readonly string[] = [];
        let allStopped = false;
        const stopOf = (name: string) =>
          stopped.has(name) ? 'own' : allStopped && concerned.includes(name) ? 'all' : undefined;
        const queue = new FairQueue<number>(stopOf);
        const plain = new PlainFairQueue<number>();
        const items: string[] = [];
        const running: { tenant: string; estimate: number }[] = [];
        for (const one of steps) {
          if ('push' in one) {
            for (const each of [queue, plain]) each.push(one.push, items.length, one.weight);
            items.push(one.push);
          } else if ('shift' in one) {
            const named = 'named' in one ? one.named : undefined;
            const next = queue.shift(() => one.shift, named);
            expect(next).to.deep.equal(plain.shift(one.shift, (name) => !stopOf(name), named));
            if (next) running.push({ tenant: next.tenant, estimate: one.shift });
          } else if ('settle' in one) {
            const [ended] = running.splice(one.settle % (running.length || 1), 1);
            if (ended)
              for (const each of [queue, plain]) each.settle(ended.tenant, ended.estimate, one.spent);
          } else if ('remove' in one && items.length > 0) {
            const item = one.remove % items.length;
            const name = items[item] as string;
            expect(queue.remove(name, item)).to.equal(plain.remove(name, item));
          } else if ('stop' in one) stopped.add(one.stop);
          else if ('go' in one) {
            stopped.delete(one.go);
            queue.look(one.go);
          } else if ('stopAll' in one) {
            const free = concerned.filter((name) => !one.stopAll.includes(name));
            concerned = one.stopAll;
            allStopped = true;
            for (const name of free) queue.look(name);
          } else if ('goAll' in one) allStopped = false;
          expect(queue.size).to.equal(plain.size);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('remembers what thousands of tenants have had beyond their share', () => {
    const queue = new FairQueue<number>();
    const plain = new PlainFairQueue<number>();
    const both = [queue, plain];
    // Each has had 100 ms and waits for nothing more; the one that goes on waiting is behind them all.
    for (let id = 0; id < 3_000; id += 1) {
      for (const each of both) each.push(`t${id}`, id);
      for (const each of [queue.shift(() => 0), plain.shift(0, () => true)]) expect(each?.item).to.equal(id);
      for (const each of both) each.settle(`t${id}`, 0, 100);
    }
    for (const each of both) each.push('late', -1);
    for (let id = 0; id < 3_000; id += 1) for (const each of both) each.push(`t${id}`, id);
    for (let at = 0; at < 20; at += 1) {
      const next = queue.shift(() => 10);
      expect(next).to.deep.equal(plain.shift(10, () => true));
      if (at < 10) expect(next?.tenant).to.equal('late');
      for (const each of both) each.push('late', -2 - at);
    }
  });

  it('forgets a tenant when the others have had as much', () => {
    const queue = new FairQueue<string>();
    for (let id = 0; id < 1_003; id += 1) {
      const tenant = id < 1_000 ? `t${id}` : 'other';
      queue.push(tenant, tenant);
      queue.shift(() => 0);
      queue.settle(tenant, 0, 10);
    }
    expect(queue.known).to.equal(1);
  });
});

describe('a fair queue of ten thousand tenants', () => {
  const lanes = 10_000;

  function counted(stopOf: (tenant: string) => StopReason | undefined) {
    const asked = { times: 0 };
    const queue = new FairQueue<number>((name) => {
      asked.times += 1;
      return stopOf(name);
    });
    for (let id = 0; id < lanes; id += 1) queue.push(`t${id}`, id);
    return { queue, asked };
  }

  it('asks about one that may not start once, and again when it may', () => {
    const { queue, asked } = counted((name) => (name === 't9999' ? undefined : 'own'));
    expect(queue.shift(() => 1)?.tenant).to.equal('t9999');
    for (let tries = 0; tries < 100; tries += 1) expect(queue.shift(() => 1)).to.equal(undefined);
    expect(asked.times).to.equal(lanes);
    for (let looks = 0; looks < 2; looks += 1) queue.look('t5');
    queue.shift(() => 1);
    expect(asked.times).to.equal(lanes + 1);
  });

  it('asks about one of all that wait for the same', () => {
    let stop: StopReason | undefined = 'all';
    const { queue, asked } = counted(() => stop);
    expect(queue.shift(() => 1)).to.equal(undefined);
    expect(asked.times).to.equal(lanes);
    for (let served = 0; served < 100; served += 1) {
      stop = undefined;
      expect(queue.shift(() => 1)?.tenant).to.equal(`t${served}`);
      stop = 'all';
      expect(queue.shift(() => 1)).to.equal(undefined);
    }
    expect(asked.times).to.be.at.most(lanes + 300);
  });
});
