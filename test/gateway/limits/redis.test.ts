import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Database } from '../../../gateway/database/database.js';
import type { EffectiveLimits } from '../../../gateway/limits/limiter.js';
import { skipWithout, until } from '../../needs.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { allowed, createTestLimiter, headersOf, type TestLimiter, tenantWith } from './gateways.js';
import type { Hammering } from './hammer.js';
import {
  answers,
  createOwnRedis,
  forget,
  freshPrefix,
  type OwnRedis,
  REDIS_URL,
  withClient,
} from './redis-servers.js';

describe('limiter whose Redis fails', () => {
  const prefix = freshPrefix();
  let redis: OwnRedis;
  let files: TestDatabase;
  let database: Database;
  const gateways: TestLimiter[] = [];

  before(async function () {
    const own = await createOwnRedis();
    if (!own) return skipWithout(this, 'redis-server on the PATH');
    redis = own;
    files = await createSqliteDatabase();
    database = await files.connect();
  });

  afterEach(async () => {
    for (const gateway of gateways.splice(0)) await gateway.close();
    redis?.resume();
    await redis?.kill();
    await redis?.start();
  });

  after(async () => {
    await redis?.kill();
    await files?.drop();
  });

  async function open(options: { redisTimeoutMs?: number } = {}): Promise<TestLimiter> {
    const where = { database, redisUrl: redis.url, redisPrefix: prefix };
    const gateway = await createTestLimiter({ ...where, ...options });
    gateways.push(gateway);
    return gateway;
  }

  const messages = (gateway: TestLimiter) => gateway.logger.lines.map((line) => line.message);
  const outage = 'Redis cannot be used: this gateway limits by itself, at a reduced share';
  const back = 'Redis is back: limits are shared again';

  const logged = (gateway: TestLimiter, message: string) =>
    until(async () => {
      await gateway.limiter.take(tenantWith({ rate: 1 }));
      return messages(gateway).includes(message);
    });

  it('goes on at half the limits, says so once, and shares again when Redis is back', async () => {
    const gateway = await open();
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(20);
    await redis.kill();
    await logged(gateway, outage);
    const tenant = tenantWith({ rate: 20, burst: 6 });
    expect(await allowed(gateway.limiter, tenant, 50)).to.equal(13);
    const headers = headersOf(await gateway.limiter.take(tenant));
    expect(headers['RateLimit-Policy']).to.equal('"rate";q=10;w=1, "burst";q=3;w=10');
    await redis.start();
    await logged(gateway, back);
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(20);
    expect(messages(gateway)).to.deep.equal([outage, back]);
  });

  it('starts without Redis and finds it later', async () => {
    await redis.kill();
    const gateway = await open();
    expect(messages(gateway)).to.deep.equal([outage]);
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(10);
    await redis.start();
    await logged(gateway, back);
  });

  it('holds no call for long when Redis hangs, and none once that is known', async () => {
    const gateway = await open({ redisTimeoutMs: 500 });
    redis.pause();
    const tenant = tenantWith({ rate: 20, monthlyQuota: 100 });
    expect(await allowed(gateway.limiter, tenant, 50)).to.be.within(1, 20);
    await logged(gateway, outage);
    let isLater = false;
    setImmediate(() => (isLater = true));
    for (let call = 0; call < 100; call += 1) await gateway.limiter.take(tenantWith({ rate: 1 }));
    expect(isLater).to.equal(false);
    redis.resume();
    await logged(gateway, back);
  });

  it('does not mistake a busy moment of its own for an outage', async () => {
    const gateway = await open({ redisTimeoutMs: 1000 });
    const tenant = tenantWith({ rate: 20 });
    const calls = [gateway.limiter.take(tenant), gateway.limiter.take(tenant)];
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200);
    await Promise.all(calls);
    // It asks Redis by itself, and goes on sharing once it has heard of it.
    await until(async () => {
      const headers = headersOf(await gateway.limiter.take(tenantWith({ rate: 20 })));
      return headers['RateLimit-Policy'] === '"rate";q=20;w=1';
    });
    expect(messages(gateway)).to.deep.equal([]);
  });

  it('keeps counting a quota through an outage and a Redis that lost its memory', async () => {
    const gateway = await open();
    const tenant = tenantWith({ monthlyQuota: 10 });
    expect(await allowed(gateway.limiter, tenant, 4, 200)).to.equal(4);
    await redis.kill();
    await logged(gateway, outage);
    expect(await allowed(gateway.limiter, tenant, 3, 200)).to.equal(3);
    await redis.start();
    await logged(gateway, back);
    expect(await allowed(gateway.limiter, tenant, 20, 200)).to.equal(3);
  });

  it('keeps a CPU budget through an outage and a Redis that lost its memory', async () => {
    const gateway = await open();
    const tenant = tenantWith({ monthlyCpuMs: 30 });
    async function charge(ms: number) {
      const verdict = await gateway.limiter.take(tenant);
      return verdict.allowed && verdict.charge(ms).RateLimit?.replace(/;t=.*/, '');
    }
    expect(await charge(10)).to.equal('"cpu";r=20');
    await redis.kill();
    await logged(gateway, outage);
    expect(await charge(15)).to.equal('"cpu";r=5');
    await redis.start();
    await logged(gateway, back);
    expect(await charge(5)).to.equal('"cpu";r=0');
    await until(async () => (await charge(0)) === false);
  });

  it('begins a window anew that a clock set back has made longer', async () => {
    const gateway = await open();
    const tenant = tenantWith({ rate: 5 });
    expect(await allowed(gateway.limiter, tenant, 10)).to.equal(5);
    await withClient(redis.url, (client) => client.pexpire(`${prefix}rate:${tenant.id}`, 3_600_000));
    expect(await allowed(gateway.limiter, tenant, 10)).to.equal(5);
  });

  it('counts a Redis that takes no writes as an outage', async () => {
    await withClient(redis.url, (client) => client.config('SET', 'maxmemory', '1'));
    const gateway = await open();
    expect(messages(gateway)).to.deep.equal([outage]);
    await withClient(redis.url, (client) => client.config('SET', 'maxmemory', '0'));
    await logged(gateway, back);
  });
});

const hammer = fileURLToPath(new URL('./hammer.js', import.meta.url));

describe('two gateway processes on one Redis', () => {
  const prefix = freshPrefix();

  let children: ChildProcess[] = [];
  before(async function () {
    if (!(await answers(REDIS_URL))) skipWithout(this, `a Redis server at ${REDIS_URL}`);
    children = [1, 2].map(() => fork(hammer, [REDIS_URL, prefix]));
    await Promise.all(children.map((child) => once(child, 'message')));
  });

  after(async () => {
    const ended = children.map((child) => once(child, 'exit'));
    for (const child of children) child.disconnect();
    await Promise.all(ended);
    await forget(REDIS_URL, prefix).catch(() => {});
  });

  /** How many calls two processes, asking over and over, were allowed, and in how many windows of a length that can be. */
  async function run(limits: Partial<EffectiveLimits>, ms: number) {
    const hammering: Hammering = { tenant: tenantWith(limits), ms };
    const results = children.map((child) => once(child, 'message'));
    const began = performance.now();
    for (const child of children) child.send(hammering);
    const counts = (await Promise.all(results)).map(([count]) => Number(count));
    const passed = performance.now() - began;
    return {
      allowed: counts.reduce((sum, count) => sum + count, 0),
      windows: (seconds: number) => Math.floor(passed / (1000 * seconds)) + 1,
    };
  }

  it('never pass the rate together by more than one call a window', async () => {
    const { allowed, windows } = await run({ rate: 40 }, 2200);
    expect(allowed).to.be.within(40, 41 * windows(1));
  });

  it('never pass rate and burst together', async () => {
    const { allowed, windows } = await run({ rate: 10, burst: 15 }, 500);
    expect(allowed).to.be.within(25, 10 * windows(1) + 15 * windows(10));
  });

  it('never pass the quota together', async () => {
    expect((await run({ monthlyQuota: 123 }, 500)).allowed).to.equal(123);
  });
});
