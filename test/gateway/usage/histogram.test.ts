import { expect } from 'chai';
import fc from 'fast-check';
import { bucketCount, bucketOf, quantile } from '../../../gateway/usage/histogram.js';

const durations = fc.array(fc.double({ min: 0, max: 30_000, noNaN: true }), { minLength: 1, maxLength: 50 });

function histogramOf(all: readonly number[]): number[] {
  const buckets = new Array<number>(bucketCount).fill(0);
  for (const ms of all) (buckets[bucketOf(ms)] as number) += 1;
  return buckets;
}

describe('usage/histogram', () => {
  it('gives the same when parts are added up as when all is counted at once', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const [a, b] = [histogramOf(some), histogramOf(others)];
        expect(a.map((count, at) => count + (b[at] as number))).to.deep.equal(
          histogramOf([...some, ...others]),
        );
      }),
    );
  });

  it('gives p50 and p95 within the bucket of the true ones', () => {
    fc.assert(
      fc.property(durations, fc.constantFrom(0.5, 0.95), (all, q) => {
        const exact = all.toSorted((a, b) => a - b)[Math.ceil(q * all.length) - 1] as number;
        const found = quantile(histogramOf(all), q) as number;
        // To a tenth, as it is shown.
        const around = [found - 0.1, found, found + 0.1].map(bucketOf);
        expect(around).to.include(bucketOf(exact));
      }),
    );
  });

  it('counts whatever it is given, and knows no quantile of nothing', () => {
    expect([Number.NaN, -1, 0, 1].map(bucketOf)).to.deep.equal([0, 0, 0, 0]);
    expect(bucketOf(Number.POSITIVE_INFINITY)).to.equal(bucketCount - 1);
    expect(quantile(histogramOf([]), 0.5)).to.equal(null);
  });
});
