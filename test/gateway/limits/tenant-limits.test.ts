import { expect } from 'chai';
import { resolveLimits } from '../../../gateway/limits/tenant-limits.js';

describe('tenant limits', () => {
  const defaults = { rate: 50, burst: 0, monthlyQuota: 1000, inFlight: 4 };
  const none = { rate: null, burst: null, monthly_quota: null, in_flight: null };

  it('are the defaults where a tenant has none of its own', () => {
    expect(resolveLimits(none, defaults)).to.deep.equal(defaults);
    expect(resolveLimits({ ...none, rate: 5 }, defaults)).to.deep.equal({ ...defaults, rate: 5 });
  });

  it('are its own, as they are stored, where it has some', () => {
    const own = { rate: 0, burst: 7, monthly_quota: 0, in_flight: 2 };
    expect(resolveLimits(own, defaults)).to.deep.equal({ rate: 0, burst: 7, monthlyQuota: 0, inFlight: 2 });
  });

  it('leave what the gateway does not limit without limit', () => {
    const unlimited = { ...defaults, monthlyQuota: null, inFlight: null };
    expect(resolveLimits(none, unlimited)).to.deep.equal(unlimited);
  });
});
