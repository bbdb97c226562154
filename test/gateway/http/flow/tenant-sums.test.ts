import { expect } from 'chai';
import fc from 'fast-check';
import { TenantSums } from '../../../../gateway/http/flow/tenant-sums.js';

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
