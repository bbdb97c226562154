import { expect } from 'chai';
import fc from 'fast-check';
import { Heap } from '../../pool/heap.js';

interface Ranked {
  id: number;
  rank: number;
}

function goesFirst(a: Ranked, b: Ranked): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.id < b.id);
}

describe('a heap', () => {
  it('has the first item first, whatever was put in, moved and taken out', () => {
    const id = fc.nat({ max: 30 });
    const step = fc.oneof(fc.record({ id, rank: fc.integer({ min: 0, max: 20 }) }), fc.record({ id }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const heap = new Heap<Ranked>(goesFirst);
        const all = new Map<number, Ranked>();
        for (const one of steps) {
          const item = all.get(one.id) ?? { id: one.id, rank: 0 };
          if ('rank' in one) {
            item.rank = one.rank;
            heap.place(item);
            all.set(item.id, item);
          } else {
            heap.delete(item);
            all.delete(item.id);
          }
          const [first] = [...all.values()].sort((a, b) => (goesFirst(a, b) ? -1 : 1));
          expect(heap.first()).to.equal(first);
          expect(heap.size).to.equal(all.size);
        }
      }),
    );
  });

  it('compares a number of items that grows with the logarithm of its size', () => {
    let comparisons = 0;
    const heap = new Heap<Ranked>((a, b) => {
      comparisons += 1;
      return goesFirst(a, b);
    });
    const items = Array.from({ length: 2 ** 14 }, (_, id) => ({ id, rank: (id * 7919) % 10_007 }));
    for (const item of items) heap.place(item);
    for (const item of items.slice(0, 2000)) {
      comparisons = 0;
      item.rank = (item.rank * 31) % 10_007;
      heap.place(item);
      expect(comparisons).to.be.at.most(3 * 14);
      comparisons = 0;
      heap.delete(item);
      expect(comparisons).to.be.at.most(3 * 14);
    }
  });
});
