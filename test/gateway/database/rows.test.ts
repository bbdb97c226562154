import { expect } from 'chai';
import fc from 'fast-check';
import { sortYielding } from '../../../gateway/database/rows.js';

describe('database/sort-yielding', () => {
  it('sorts as sort does, items that are equal staying in their order', async () => {
    const items = fc.array(fc.record({ rank: fc.nat(50), name: fc.nat() }), { maxLength: 200, size: 'max' });
    await fc.assert(
      fc.asyncProperty(items, fc.nat(60), async (some, times) => {
        const all = Array.from({ length: times }, () => some).flat();
        const byRank = (a: { rank: number }, b: { rank: number }) => a.rank - b.rank;
        const sorted = await sortYielding(all, byRank);
        expect(sorted.length).to.equal(all.length);
        const expected = all.toSorted(byRank);
        expect(sorted.every((item, at) => item === expected[at])).to.equal(true);
      }),
      { numRuns: 60 },
    );
  });

  it('compares no more than some ten thousand times in one turn of the event loop', async () => {
    let compared = 0;
    let most = 0;
    let done = false;
    setImmediate(function look() {
      most = Math.max(most, compared);
      compared = 0;
      if (!done) setImmediate(look);
    });
    const items = Array.from({ length: 100_000 }, (_, at) => (at * 7_919) % 100_003);
    await sortYielding(items, (a, b) => {
      compared += 1;
      return a - b;
    });
    done = true;
    // What the last turn, which was not looked at, compared is one turn's as well.
    most = Math.max(most, compared);
    // 2,000 items at log2(2,000) comparisons each.
    expect(most).to.be.within(1, 30_000);
  });
});
