import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalCodes, codeLengths } from '../../../../pool/image/png/huffman.js';

const limit = 14;
const weightLists = fc.oneof(
  fc.array(fc.nat(100_000), { minLength: 2, maxLength: 286, size: 'max' }),
  fc.array(fc.constantFrom(0, 0, 1, 50_000), { minLength: 2, maxLength: 286, size: 'max' }),
  // Each as much as the two before it: the deepest tree that there is.
  fc.integer({ min: 2, max: 24 }).map((count) => {
    const weights = [1, 1];
    while (weights.length < count) weights.push((weights.at(-1) as number) + (weights.at(-2) as number));
    return weights;
  }),
);

function used(weights: readonly number[]): number {
  return weights.filter((weight) => weight > 0).length;
}

function cost(weights: readonly number[], lengths: Uint8Array): number {
  return weights.reduce((sum, weight, i) => sum + weight * (lengths[i] as number), 0);
}

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
      fc.property(
        weightLists.filter((weights) => used(weights) > 1),
        (weights) => {
          const lengths = codeLengths(Uint32Array.from(weights), limit);
          expect(Math.max(...lengths)).to.be.at.most(limit);
          expect(weights.map((weight) => weight > 0)).to.deep.equal([...lengths].map((length) => length > 0));
          const kraft = lengths.reduce((sum, length) => sum + (length > 0 ? 2 ** -length : 0), 0);
          expect(kraft).to.equal(1);
        },
      ),
    );
  });

  it('cost no more than those of Huffman where the limit does not matter', () => {
    fc.assert(
      fc.property(
        weightLists.filter((weights) => used(weights) > 1),
        (weights) => {
          expect(cost(weights, codeLengths(Uint32Array.from(weights), 300))).to.equal(leastCost(weights));
        },
      ),
    );
  });

  it('are shortened where the limit matters', () => {
    const weights = Array.from({ length: 24 }, (_, i) => 2 ** i);
    expect(Math.max(...codeLengths(Uint32Array.from(weights), 300))).to.equal(23);
    expect(Math.max(...codeLengths(Uint32Array.from(weights), 7))).to.equal(7);
  });

  it('of one symbol alone is a bit, of none nothing', () => {
    expect([...codeLengths(Uint32Array.of(0, 5, 0), limit)]).to.deep.equal([0, 1, 0]);
    expect([...codeLengths(Uint32Array.of(0, 0), limit)]).to.deep.equal([0, 0]);
  });
});

describe('canonicalCodes', () => {
  it('are those of the example of RFC 1951, section 3.2.2, sent from their first bit on', () => {
    const codes = canonicalCodes(Uint8Array.of(3, 3, 3, 3, 3, 2, 4, 4));
    const reversed = [0b010, 0b110, 0b001, 0b101, 0b011, 0b00, 0b0111, 0b1111];
    expect([...codes]).to.deep.equal(reversed);
  });
});
