import { expect } from 'chai';
import fc from 'fast-check';
import { MinimumRate, PeerClock, sweepRoundRobin, TenantSums } from '../../../gateway/http/budget.js';

const options = { bytesPerSecond: 1000, graceMs: 5000 };

describe('MinimumRate', () => {
  it('is never more than its whole patience, however much came', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1e6), fc.nat(5000))), (steps) => {
        const pace = new MinimumRate(options, 0);
        let now = 0;
        for (const [bytes, ms] of steps) {
          now += ms;
          pace.add(bytes, now);
          expect(pace.left(now)).to.be.at.most(5000);
        }
      }),
    );
  });
});

describe('the clock of a peer', () => {
  it('counts of a turn of the event loop no more than 100 ms', () => {
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
  it('add up as a plain map does; none has twice as much as the largest', () => {
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
  function make(count: number, isOver: (thing: { at: number }) => boolean) {
    const things = new Set(Array.from({ length: count }, (_, at) => ({ at })));
    const seen: number[] = [];
    const ended: number[] = [];
    const tick = sweepRoundRobin(things, {
      isOver(thing) {
        seen.push(thing.at);
        return isOver(thing);
      },
      end({ at }) {
        ended.push(at);
        for (const thing of things) if (thing.at === at) things.delete(thing);
      },
    });
    return { things, seen, ended, tick: () => tick(0) };
  }

  it('look at a few thousand in a tick, and at all in the end, again and again', () => {
    const { seen, tick } = make(10_000, () => false);
    let most = 0;
    for (let ticks = 0; ticks < 100; ticks += 1) {
      const before = seen.length;
      tick();
      most = Math.max(most, seen.length - before);
    }
    expect(most).to.be.within(1, 5000);
    expect(new Set(seen).size).to.equal(10_000);
    expect(seen.filter((at) => at === 9999).length).to.be.above(5);
  });

  it('end a few dozen in a tick, and all that are over in the end, none twice', () => {
    const { things, ended, tick } = make(1000, ({ at }) => at % 2 === 0);
    let most = 0;
    for (let ticks = 0; ticks < 100; ticks += 1) {
      const before = ended.length;
      tick();
      most = Math.max(most, ended.length - before);
    }
    expect(most).to.be.within(1, 50);
    expect(ended).to.deep.equal(Array.from({ length: 500 }, (_, at) => 2 * at));
    expect(things.size).to.equal(500);
  });
});
