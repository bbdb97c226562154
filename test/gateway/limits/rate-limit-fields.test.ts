import { expect } from 'chai';
import { rateLimitFields } from '../../../gateway/limits/rate-limit-fields.js';

const month = { name: '2025-01', seconds: 2_678_400, left: 1000 };
const none = { rate: 0, burst: 0, monthlyQuota: null, inFlight: null };

describe('RateLimit fields', () => {
  it('name every policy in force and every state known', () => {
    const limits = { rate: 50, burst: 100, monthlyQuota: 10_000, inFlight: 4 };
    const second = { limit: 50, remaining: 0, resetMs: 1 };
    const burst = { limit: 100, remaining: 98, resetMs: 9001 };
    const quota = { limit: 10_000, remaining: 9000 };
    expect(rateLimitFields(limits, { rate: { allowed: true, second, burst }, quota, month })).to.deep.equal({
      'RateLimit-Policy':
        '"rate";q=50;w=1, "burst";q=100;w=10, "quota";q=10000;w=2678400, "in-flight";q=4;qu="concurrent-requests"',
      RateLimit: '"rate";r=0;t=1, "burst";r=98;t=10, "quota";r=9000;t=1000',
    });
  });

  it('are missing for a tenant without limits', () => {
    expect(rateLimitFields(none, { month })).to.deep.equal({});
  });

  it('tell a quota of nothing', () => {
    const fields = rateLimitFields(
      { ...none, monthlyQuota: 0 },
      { quota: { limit: 0, remaining: 0 }, month },
    );
    expect(fields['RateLimit-Policy']).to.equal('"quota";q=0;w=2678400');
  });
});
