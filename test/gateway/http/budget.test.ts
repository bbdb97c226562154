import { expect } from 'chai';
import fc from 'fast-check';
import { PeerClock, sweepRoundRobin, TenantSums } from '../../../gateway/http/budget.js';

describe('PeerClock', () => {
  it('counts no more than 100 ms of an iteration of the event loop', () => {
    let time = 0;
    const clock = new PeerClock(() => time);
    time = 60;
    expect(clock.now()).to.equal(60);
    clock.tick();
    // This thread is busy for so long.
    time = 6000;
    expect(clock.now()).to.equal(160);
    clock.tick();
    time = 6050;
    expect(clock.now()).to.equal(210);
  });
});

describe('TenantSums', () => {
  it('adds up as a plain map does; none has twice as much as the largest', () => {
    const step = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: -1e9, max: 1e10 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const sums = new TenantSums();
        const plain = new Map<string, number>();
        for (const [tenant, wanted] of steps) {
          const before = plain.get(tenant) ?? 0;
          const amount = Math.max(wanted, -before);
          sums.add(tenant, amount);
          plain.set(tenant, before + amount);
          expect(sums.of(tenant)).to.equal(before + amount);
          expect(sums.total).to.equal([...plain.values()].reduce((total, sum) => total + sum, 0));
          const most = Math.max(...plain.values());
          const largest = sums.largest();
          expect(largest === undefined).to.equal(most === 0);
          if (largest !== undefined) expect(2 * sums.of(largest)).to.be.above(most);
        }
      }),
    );
  });
});

describe('sweepRoundRobin', () => {
  /** What 100 ticks look at and end, and the most of that in one tick. */
  function sweep(count: number, isOver: (at: number) => boolean) {
    const transfers = new Set(Array.from({ length: count }, (_, at) => at));
    const seen: number[] = [];
    const ended: number[] = [];
    let [mostSeen, mostEnded] = [0, 0];
    const tick = sweepRoundRobin(transfers, {
      isOver(at) {
        seen.push(at);
        return isOver(at);
      },
      end(at) {
        ended.push(at);
        transfers.delete(at);
      },
    });
    for (let ticks = 0; ticks < 100; ticks += 1) {
      const [seenBefore, endedBefore] = [seen.length, ended.length];
      tick(0);
      mostSeen = Math.max(mostSeen, seen.length - seenBefore);
      mostEnded = Math.max(mostEnded, ended.length - endedBefore);
    }
    return { seen, ended, mostSeen, mostEnded, left: transfers.size };
  }

  it('looks at a few thousand in a tick, and at all in the end, again and again', () => {
    const { seen, mostSeen } = sweep(10_000, () => false);
    expect(mostSeen).to.be.within(1, 5000);
    expect(new Set(seen).size).to.equal(10_000);
    expect(seen.filter((at) => at === 9999).length).to.be.above(5);
  });

  it('ends a few dozen in a tick, and all that are over in the end, none twice', () => {
    const { ended, mostEnded, left } = sweep(1000, (at) => at % 2 === 0);
    expect(mostEnded).to.be.within(1, 50);
    expect(ended).to.deep.equal(Array.from({ length: 500 }, (_, at) => 2 * at));
    expect(left).to.equal(500);
  });
});
