import { expect } from 'chai';
import fc from 'fast-check';
import { Fifo, Heap } from '../../pool/queues.js';

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

describe('a line', () => {
  it('has its oldest item first, whoever joins and leaves', () => {
    const step = fc.oneof(
      fc.constant('join' as const),
      fc.constant('serve' as const),
      fc.record({ leave: fc.nat({ max: 60 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const line = new Fifo<number>();
        let plain: number[] = [];
        let id = 0;
        for (const one of steps) {
          if (one === 'join') {
            line.add(id);
            plain.push(id);
            id += 1;
          } else {
            const item = one === 'serve' ? line.first() : one.leave;
            expect(item !== undefined && line.delete(item)).to.equal(plain.includes(item as number));
            plain = plain.filter((other) => other !== item);
          }
          expect(line.size).to.equal(plain.length);
          // Not after every step: an item may leave that was never looked at.
          if (line.size % 3 !== 0) expect(line.first()).to.equal(plain[0]);
        }
        for (const item of plain) {
          expect(line.first()).to.equal(item);
          line.delete(item);
        }
        expect(line.first()).to.equal(undefined);
      }),
    );
  });
});
