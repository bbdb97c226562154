import { expect } from 'chai';
import { resolveLimits } from '../../../gateway/limits/tenant-limits.js';

describe('tenant limits', () => {
  const defaults = { rate: 50, burst: 0, monthlyQuota: 1000, inFlight: 4 };

  it('are the defaults where a tenant has none of its own', () => {
    expect(resolveLimits(undefined, defaults)).to.deep.equal(defaults);
    expect(resolveLimits({ rate: 5 }, defaults)).to.deep.equal({ ...defaults, rate: 5 });
  });

  it('can be lifted for one tenant', () => {
    expect(resolveLimits({ rate: 0, monthlyQuota: null, inFlight: null }, defaults)).to.deep.equal({
      rate: 0,
      burst: 0,
      monthlyQuota: null,
      inFlight: null,
    });
  });
});
