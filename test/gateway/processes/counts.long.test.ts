import { expect } from 'chai';
import type { RateState } from '../../../gateway/limits/rate-gate.js';
import { createCounts } from '../../../gateway/processes/counts.js';
import type { Ask } from '../../../gateway/processes/messages.js';

describe('the counts of several processes', () => {
  const reserve = (limit: number, floor = 0, month = '2026-11'): Ask => ({
    kind: 'reserve',
    name: `acme:${month}`,
    limit,
    floor,
  });
  const release = (floor = 0): Ask => ({ kind: 'release', name: 'acme:2026-11', floor });

  it('allow a rate and a burst to all of them together', async () => {
    const counts = createCounts();
    const ask: Ask = { kind: 'rate', tenant: 'acme', rate: 5, burst: 2 };
    const told = await Promise.all([counts.tell(Array(6).fill(ask)), counts.tell(Array(6).fill(ask))]);
    expect(told.flat().filter((each) => (each as RateState).allowed)).to.have.length(7);
  });

  it('grant a quota once, and what is given back again', async () => {
    const { tell } = createCounts();
    expect(await tell([reserve(2), reserve(2), reserve(2)])).to.deep.equal([
      { granted: true, used: 1 },
      { granted: true, used: 2 },
      { granted: false, used: 2 },
    ]);
    expect(await tell([release(), reserve(2)])).to.deep.equal([null, { granted: true, used: 2 }]);
  });

  it('count from what is charged in the database, and give no less back', async () => {
    const { tell } = createCounts();
    expect(await tell([reserve(10, 8), release(9), reserve(10)])).to.deep.equal([
      { granted: true, used: 9 },
      null,
      { granted: true, used: 10 },
    ]);
  });

  it('forget months long past', async () => {
    const { tell } = createCounts();
    await tell([reserve(9, 5), reserve(9, 0, '2026-12'), reserve(9, 0, '2027-01')]);
    expect(await tell([reserve(9, 0, '2026-12'), reserve(9)])).to.deep.equal([
      { granted: true, used: 2 },
      { granted: true, used: 1 },
    ]);
  });
});
