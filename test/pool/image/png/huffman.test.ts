import { expect } from 'chai';
import fc from 'fast-check';
import { codeLengths } from '../../../../pool/image/png/huffman.js';

const lengthsOf = (weights: number[], limit: number) => codeLengths(Uint32Array.from(weights), limit);

const weightLists = fc
  .oneof(
    fc.array(fc.nat(100_000), { minLength: 2, maxLength: 286, size: 'max' }),
    fc.array(fc.constantFrom(0, 0, 1, 50_000), { minLength: 2, maxLength: 286, size: 'max' }),
    // Each as much as the two before it: the deepest tree that there is.
    fc.integer({ min: 2, max: 24 }).map((count) => {
      const weights = [1, 1];
      while (weights.length < count) weights.push((weights.at(-1) as number) + (weights.at(-2) as number));
      return weights;
    }),
  )
  .filter((weights) => weights.filter((weight) => weight > 0).length > 1);

/** What the inner nodes of Huffman's tree weigh, one pair after the other. */
function leastCost(weights: readonly number[]): number {
  const left = weights.filter((weight) => weight > 0);
  let sum = 0;
  while (left.length > 1) {
    left.sort((a, b) => a - b);
    const pair = (left[0] as number) + (left[1] as number);
    left.splice(0, 2, pair);
    sum += pair;
  }
  return sum;
}

describe('codeLengths', () => {
  it('are legal: none past the limit, none for what is not there, and a full tree', () => {
    fc.assert(
      fc.property(weightLists, (weights) => {
        const lengths = lengthsOf(weights, 14);
        expect(Math.max(...lengths)).to.be.at.most(14);
        expect(weights.map((weight) => weight > 0)).to.deep.equal([...lengths].map((length) => length > 0));
        const kraft = lengths.reduce((sum, length) => sum + (length > 0 ? 2 ** -length : 0), 0);
        expect(kraft).to.equal(1);
      }),
    );
  });

  it('cost no more than those of Huffman where the limit does not matter, and are shortened where it does', () => {
    fc.assert(
      fc.property(weightLists, (weights) => {
        const lengths = lengthsOf(weights, 300);
        const cost = weights.reduce((sum, weight, i) => sum + weight * (lengths[i] as number), 0);
        expect(cost).to.equal(leastCost(weights));
      }),
    );
    const deep = Array.from({ length: 24 }, (_, i) => 2 ** i);
    expect([300, 7].map((limit) => Math.max(...lengthsOf(deep, limit)))).to.deep.equal([23, 7]);
  });
});
