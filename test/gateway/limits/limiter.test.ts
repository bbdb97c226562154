import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Database } from '../../../gateway/database/database.js';
import { noLimits } from '../../../gateway/keys/model.js';
import type { LimitedTenant } from '../../../gateway/limits/limiter.js';
import {
  createLimitsOf,
  createMonthClock,
  type EffectiveLimits,
  rateLimitFields,
  stateBefore,
} from '../../../gateway/limits/limiter.js';
import { skipWithout, until } from '../../needs.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import {
  allowed,
  byKey,
  createSupervisedCounts,
  createTestLimiter,
  headersOf,
  type TestLimiter,
  tenantWith,
} from './gateways.js';
import { answers, forget, freshPrefix, REDIS_URL } from './redis-servers.js';

const prefix = freshPrefix();

const backends = [
  { name: 'memory', there: async () => true, options: {} },
  { name: 'a supervisor', there: async () => true, options: { counts: createSupervisedCounts() } },
  { name: 'Redis', there: () => answers(REDIS_URL), options: { redisUrl: REDIS_URL, redisPrefix: prefix } },
];

for (const { name, there, options } of backends) {
  describe(`limiter in ${name}`, () => {
    let files: TestDatabase;
    let database: Database;
    let gateway: TestLimiter;

    before(async function () {
      if (!(await there())) return skipWithout(this, `a ${name} server at ${REDIS_URL}`);
      files = await createSqliteDatabase();
      database = await files.connect();
      gateway = await createTestLimiter({ database, ...options });
    });

    after(async () => {
      await gateway?.close();
      await files?.drop();
      if (gateway) await forget(REDIS_URL, prefix).catch(() => {});
    });

    it('allows exactly the rate of calls at once, to each tenant by itself', async () => {
      for (const rate of [20, 4])
        expect(await allowed(gateway.limiter, tenantWith({ rate }), 100)).to.equal(rate);
    });

    const consumeTwice = (limits: Partial<EffectiveLimits>, { limiter } = gateway) => {
      const tenant = tenantWith(limits);
      return Promise.all([limiter.take(tenant), limiter.take(tenant)]);
    };

    it('says when to come back, and how much was allowed', async () => {
      const [first, second] = await consumeTwice({ rate: 1 });
      const headers = { 'RateLimit-Policy': '"rate";q=1;w=1', RateLimit: '"rate";r=0;t=1' };
      expect(headersOf(first)).to.deep.equal(headers);
      const message = "The tenant's rate, 1 a second, is used up; come back in 1 s.";
      expect(second).to.deep.equal({ allowed: false, code: 'rate_limited', retryAfter: 1, headers, message });
    });

    it('allows the rate again after a second, however many calls were refused meanwhile', async () => {
      const tenant = tenantWith({ rate: 5 });
      expect(await allowed(gateway.limiter, tenant, 10)).to.equal(5);
      // The window may end between the calls of one try: the others of the new window's calls are allowed at once then.
      const again = await until(() => allowed(gateway.limiter, tenant, 10));
      expect(again < 5 ? again + (await allowed(gateway.limiter, tenant, 10)) : again).to.equal(5);
    });

    it('allows the burst once on top of the rate', async () => {
      const tenant = tenantWith({ rate: 5, burst: 7 });
      expect(await allowed(gateway.limiter, tenant, 30)).to.equal(12);
      await pause(1100);
      expect(await allowed(gateway.limiter, tenant, 30)).to.equal(5);
    });

    it('reports the burst when it is being spent', async () => {
      const headers = headersOf((await consumeTwice({ rate: 1, burst: 3 }))[1]);
      expect(headers['RateLimit-Policy']).to.equal('"rate";q=1;w=1, "burst";q=3;w=10');
      expect(headers.RateLimit).to.match(/^"rate";r=0;t=1, "burst";r=2;t=(9|10)$/);
    });

    it('neither limits a tenant without limits nor sends it fields', async () => {
      const tenant = tenantWith({});
      expect(await allowed(gateway.limiter, tenant, 1000)).to.equal(1000);
      expect(headersOf(await gateway.limiter.take(tenant))).to.deep.equal({});
    });

    it('goes on when the clock is set back or forward', async () => {
      const clock = Date.now;
      const tenant = tenantWith({ rate: 5 });
      try {
        const before = allowed(gateway.limiter, tenant, 5);
        Date.now = () => clock() - 3_600_000;
        expect(await gateway.limiter.take(tenant)).to.deep.include({ allowed: false, retryAfter: 1 });
        expect(await before).to.equal(5);
        await pause(1100);
        expect(await allowed(gateway.limiter, tenant, 10)).to.equal(5);
        Date.now = () => clock() + 3_600_000;
        expect(await allowed(gateway.limiter, tenant, 10)).to.be.at.most(5);
      } finally {
        Date.now = clock;
      }
    });

    it('grants the last call of a quota once, however many ask for it together', async () => {
      const tenant = tenantWith({ monthlyQuota: 3 });
      expect(await allowed(gateway.limiter, tenant, 2, 200)).to.equal(2);
      expect(await allowed(gateway.limiter, tenant, 50)).to.equal(1);
    });

    it('says whether calls under way have the rest of a quota', async () => {
      const tenant = tenantWith({ monthlyQuota: 1 });
      const granted = await gateway.limiter.take(tenant);
      expect(await gateway.limiter.take(tenant)).to.include({ allowed: false, reserved: true });
      if (granted.allowed) granted.settle(200);
      const late = await gateway.limiter.take(tenant);
      expect(late.allowed).to.equal(false);
      expect(late).not.to.have.property('reserved');
    });

    it('says when a quota begins again', async () => {
      const now = () => Date.UTC(2025, 1, 28, 23, 59, 30);
      const other = await createTestLimiter({ database, ...options, now });
      const [granted, refused] = await consumeTwice({ monthlyQuota: 1 }, other);
      const headers = { 'RateLimit-Policy': '"quota";q=1;w=2419200', RateLimit: '"quota";r=0;t=30' };
      expect(headersOf(granted)).to.deep.equal(headers);
      const message =
        "The tenant's monthly quota of 1 call is used up; the next month begins at 2025-03-01T00:00:00.000Z.";
      expect(refused).to.deep.include({ allowed: false, code: 'quota_exceeded', retryAfter: 30, message });
      await other.close();
    });

    it('begins a quota anew with the month in UTC', async () => {
      let at = Date.UTC(2025, 0, 31, 23, 59, 59, 999);
      const other = await createTestLimiter({ database, ...options, now: () => at });
      const tenant = tenantWith({ monthlyQuota: 2 });
      expect(await allowed(other.limiter, tenant, 5, 200)).to.equal(2);
      at += 1;
      expect(await allowed(other.limiter, tenant, 5, 200)).to.equal(2);
      await other.close();
    });

    it('charges answers below 400 only', async () => {
      const tenant = tenantWith({ monthlyQuota: 2 });
      for (const status of [400, 404, 422, 429, 500, 503]) {
        expect(await allowed(gateway.limiter, tenant, 1, status)).to.equal(1);
        await pause(5);
      }
      expect(await allowed(gateway.limiter, tenant, 5, 200)).to.equal(2);
    });

    it('charges no quota for a call that the rate refuses', async () => {
      const tenant = tenantWith({ rate: 1, monthlyQuota: 2 });
      await allowed(gateway.limiter, tenant, 10, 200);
      tenant.limits.rate = 0;
      expect(await allowed(gateway.limiter, tenant, 10, 200)).to.equal(1);
    });

    it('settles a call once, and grants a raised quota at once', async () => {
      const tenant = tenantWith({ monthlyQuota: 1 });
      const verdict = await gateway.limiter.take(tenant);
      if (!verdict.allowed) throw new Error('refused');
      for (const status of [200, 400]) verdict.settle(status);
      await pause(5);
      expect(await allowed(gateway.limiter, tenant, 5)).to.equal(0);
      tenant.limits.monthlyQuota = 4;
      expect(await allowed(gateway.limiter, tenant, 10, 200)).to.equal(3);
    });

    it('remembers a quota through a restart, even of a Redis that keeps nothing', async () => {
      const tenant = tenantWith({ monthlyQuota: 5 });
      const before = await createTestLimiter({ database, ...options });
      await allowed(before.limiter, tenant, 3, 200);
      await before.close();
      if (name === 'Redis') await forget(REDIS_URL, `${prefix}quota`);
      const after = await createTestLimiter({ database, ...options });
      expect(await allowed(after.limiter, tenant, 10, 200)).to.equal(2);
      await after.close();
    });

    const granted = async (tenant: LimitedTenant, { limiter } = gateway) => {
      const verdict = await limiter.take(tenant);
      if (!verdict.allowed) throw new Error(verdict.message);
      return verdict;
    };

    it('never passes a quota of a key, whose refused calls take nothing of its tenant’s', async () => {
      const tenant = tenantWith({ monthlyQuota: 10 });
      const [bounded, other] = [byKey(tenant, { monthly_quota: 3 }), byKey(tenant, {})];
      const both = [allowed(gateway.limiter, bounded, 50, 200), allowed(gateway.limiter, other, 7, 200)];
      expect(await Promise.all(both)).to.deep.equal([3, 7]);
    });

    it('gives back to a key what its tenant refuses', async () => {
      const tenant = tenantWith({ monthlyQuota: 2 });
      const bounded = byKey(tenant, { monthly_quota: 3 });
      expect(await allowed(gateway.limiter, bounded, 20, 200)).to.equal(2);
      tenant.limits.monthlyQuota = 100;
      await pause(5);
      expect(await allowed(gateway.limiter, bounded, 20, 200)).to.equal(1);
    });

    it('says whose limit is used up, and names both in the fields', async () => {
      const tenant = tenantWith({ rate: 9, monthlyQuota: 9 });
      const bounded = byKey(tenant, { rate: 1, monthly_quota: 5, monthly_cpu_ms: 50 });
      const headers = headersOf(await granted(bounded));
      expect(headers['RateLimit-Policy']?.replace(/;w=[^,]*/g, '')).to.equal(
        '"key-rate";q=1, "key-quota";q=5, "key-cpu";q=50, "rate";q=9, "quota";q=9',
      );
      expect(headers.RateLimit?.replace(/;t=\d+/g, '')).to.equal(
        '"key-rate";r=0, "key-quota";r=4, "key-cpu";r=50, "rate";r=8, "quota";r=8',
      );
      const refused = await gateway.limiter.take(bounded);
      expect(refused).to.include({ allowed: false, code: 'rate_limited' });
      expect(refused).to.have.property('message').that.includes("key's rate");
    });

    it('counts no call in a tenant’s rate that its key’s refuses', async () => {
      const tenant = tenantWith({ rate: 5 });
      expect(await allowed(gateway.limiter, byKey(tenant, { rate: 1 }), 20)).to.equal(1);
      expect(await allowed(gateway.limiter, tenant, 20)).to.equal(4);
    });

    it('charges what calls cost to a tenant and a key, and refuses them past a budget', async () => {
      const tenant = tenantWith({ monthlyCpuMs: 100 });
      const bounded = byKey(tenant, { monthly_cpu_ms: 20 });
      const first = await granted(bounded);
      expect(first.charge(12.5).RateLimit?.replace(/;t=\d+/g, '')).to.equal('"key-cpu";r=7, "cpu";r=87');
      // Only what runs already may pass it.
      const running = [await granted(bounded), await granted(bounded)];
      for (const verdict of running) verdict.charge(20);
      await pause(5);
      const past = await gateway.limiter.take(bounded);
      expect(past).to.include({ allowed: false, code: 'quota_exceeded' });
      expect(past).to.have.property('message').that.includes("key's monthly CPU budget of 20 ms");
      const { RateLimit } = (await granted(tenant)).charge(0);
      expect(RateLimit).to.match(/^"cpu";r=47;/);
      expect((await granted(tenant)).charge(90).RateLimit).to.match(/^"cpu";r=0;/);
      await pause(5);
      expect(await gateway.limiter.take(byKey(tenant, {})))
        .to.have.property('message')
        .that.includes('tenant');
    });

    const shares = name === 'memory' ? [] : ['what another process or gateway has charged'];
    for (const what of shares)
      it(`knows at once ${what}`, async () => {
        const other = await createTestLimiter({ database, ...options });
        const tenant = tenantWith({ monthlyCpuMs: 30 });
        (await granted(tenant, other)).charge(20);
        await pause(5);
        expect((await granted(tenant)).charge(10).RateLimit).to.match(/^"cpu";r=0;/);
        await pause(5);
        expect(await other.limiter.take(tenant)).to.include({ allowed: false });
        await other.close();
      });

    it('remembers what was charged through a restart, also from before there was a budget', async () => {
      const tenant = tenantWith({});
      const before = await createTestLimiter({ database, ...options });
      for (let call = 0; call < 10; call += 1) (await granted(tenant, before)).charge(0.0504);
      await before.close();
      tenant.limits.monthlyCpuMs = 1;
      const after = await createTestLimiter({ database, ...options });
      expect((await granted(tenant, after)).charge(0.25).RateLimit).to.match(/^"cpu";r=0;/);
      await pause(5);
      expect((await granted(tenant, after)).charge(0.25)).to.be.an('object');
      await pause(5);
      expect(await after.limiter.take(tenant)).to.include({ allowed: false });
      await after.close();
    });
  });
}

describe('tenant limits', () => {
  it('are its own, as they are stored, else the defaults, else none', () => {
    const defaults = { rate: 50, burst: 0, monthlyQuota: 1000, inFlight: 4, monthlyCpuMs: 60_000 };
    const own = { rate: 0, burst: 7, monthly_quota: 0, in_flight: 2, monthly_cpu_ms: 0 };
    const unlimited = { ...defaults, monthlyQuota: null, inFlight: null, monthlyCpuMs: null };
    for (const [stored, given, limits] of [
      [noLimits, defaults, defaults],
      [{ ...noLimits, rate: 5 }, defaults, { ...defaults, rate: 5 }],
      [own, defaults, { rate: 0, burst: 7, monthlyQuota: 0, inFlight: 2, monthlyCpuMs: 0 }],
      [noLimits, unlimited, unlimited],
    ] as const) {
      expect(createLimitsOf(given)(stored)).to.deep.equal(limits);
    }
  });
});

const month = { name: '2025-01', seconds: 2_678_400, left: 1000, next: '2025-02-01T00:00:00.000Z' };
const none = { rate: 0, burst: 0, monthlyQuota: null, inFlight: null, monthlyCpuMs: null };

describe('RateLimit fields', () => {
  it('name every policy in force and every state known', () => {
    const limits = { rate: 50, burst: 100, monthlyQuota: 10_000, inFlight: 4, monthlyCpuMs: null };
    const second = { remaining: 0, resetMs: 1 };
    const rate = { allowed: true, second, burst: { remaining: 98, resetMs: 9001 } };
    expect(
      rateLimitFields([{ ...stateBefore('tenant', 'acme', limits), rate, calls: 9000 }], month),
    ).to.deep.equal({
      'RateLimit-Policy':
        '"rate";q=50;w=1, "burst";q=100;w=10, "quota";q=10000;w=2678400, "in-flight";q=4;qu="concurrent-requests"',
      RateLimit: '"rate";r=0;t=1, "burst";r=98;t=10, "quota";r=9000;t=1000',
    });
    const nothing = { ...none, monthlyQuota: 0 };
    const ofNothing = rateLimitFields([{ ...stateBefore('tenant', 'acme', nothing), calls: 0 }], month);
    expect(ofNothing['RateLimit-Policy']).to.equal('"quota";q=0;w=2678400');
    expect(rateLimitFields([stateBefore('tenant', 'acme', none)], month)).to.deep.equal({});
  });
});

describe('month', () => {
  const monthOf = createMonthClock();

  it('is named in UTC with what is left of it', () => {
    const next = '2024-03-01T00:00:00.000Z';
    const february = { name: '2024-02', seconds: 29 * 86_400, left: 172_800, next };
    expect(monthOf(Date.UTC(2024, 1, 28))).to.deep.equal(february);
    expect(monthOf(Date.UTC(2024, 11, 31, 23, 59, 59, 1))).to.include({ name: '2024-12', left: 1 });
  });

  it('always has a second left, and the next moment after it is another month', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date('9998-12-31'), noInvalidDate: true }), (date) => {
        const { name, seconds, left } = monthOf(date.getTime());
        expect(left).to.be.within(1, seconds);
        expect(monthOf(date.getTime() + left * 1000).name).to.not.equal(name);
      }),
    );
  });
});
