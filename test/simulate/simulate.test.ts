import { expect } from 'chai';
import { simulate, Tally } from './fleet.js';

const plain = { gateways: 1, cores: 2, queue: 100_000, tenants: 1, seed: 7, costs: { exponentialMs: 10 } };

/** The mean wait in a queue before `servers` that take `serviceMs` (M/M/c; Erlang, 1917), ms. */
function erlangWaitMs(servers: number, perSecond: number, serviceMs: number): number {
  const load = (perSecond * serviceMs) / 1000;
  let [term, sum] = [1, 0];
  for (let busy = 0; busy < servers; busy += 1) {
    sum += term;
    term *= load / (busy + 1);
  }
  const waits = (term * servers) / (servers - load);
  return ((waits / (sum + waits)) * serviceMs) / (servers - load);
}

describe('the simulation', () => {
  for (const [cores, load] of [
    [1, 0.6],
    [2, 0.8],
    [4, 0.8],
  ] as const) {
    it(`has calls wait as the theory of queues says: ${cores} cores, ${load} of them busy`, () => {
      const tally = new Tally();
      const perSecond = (cores * 1000 * load) / 10;
      const seconds = 60_000 / perSecond;
      simulate({ ...plain, cores, seconds, rate: () => perSecond, tallyOf: () => tally });
      const theory = erlangWaitMs(cores, perSecond, 10);
      expect(tally.waitMsSum / tally.served).to.be.within(theory * 0.9, theory * 1.1);
      expect(tally.cpuMs / 1000 / seconds / cores).to.be.within(load * 0.98, load * 1.02);
    });
  }

  it('loses count of no call, also where a third of the gateways goes', () => {
    const tally = new Tally();
    const fleet = { ...plain, gateways: 6, queue: 20, loss: { part: 1 / 3, from: 20, to: 40 } };
    const { inside } = simulate({ ...fleet, seconds: 60, rate: () => 1100, tallyOf: () => tally });
    expect(tally.served + tally.refused + tally.lost + inside).to.equal(tally.arrived);
    expect(tally.lost).to.be.within(1, 2 * 22);
    expect(tally.refused).to.be.greaterThan(0);
  });

  it('gives a tenant that floods what the others leave, and not more', () => {
    const [hot, others] = [new Tally(), new Tally()];
    const seconds = 60;
    const rates = { rate: () => 60, hotRate: () => 1000 };
    const tallyOf = (_: number, isHot: boolean) => (isHot ? hot : others);
    simulate({ ...plain, queue: 64, tenants: 3, seconds, ...rates, tallyOf });
    expect(others.refused + others.lost).to.equal(0);
    expect(others.waitMs(0.95)).to.be.lessThan(60);
    expect(hot.cpuMs / 1000 / seconds).to.be.within(1.3, 1.45);
  });

  it('is the same for the same seed', () => {
    const run = () => {
      const tally = new Tally();
      simulate({ ...plain, seconds: 10, rate: () => 150, tallyOf: () => tally });
      return [tally.arrived, tally.waitMsSum];
    };
    expect(run()).to.deep.equal(run());
  });
});
