import { expect } from 'chai';
import type { Database } from '../../../gateway/database/database.js';
import { skipWithout } from '../../needs.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { allowed, createTestLimiter, pause, type TestLimiter, tenantWith } from './gateways.js';
import { createOwnRedis, freshPrefix, type OwnRedis, withClient } from './redis-servers.js';

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

  async function open(): Promise<TestLimiter> {
    const gateway = await createTestLimiter({ database, redisUrl: redis.url, redisPrefix: prefix });
    gateways.push(gateway);
    return gateway;
  }

  const messages = (gateway: TestLimiter) => gateway.logger.lines.map((line) => line.message);
  const outage = 'Redis cannot be used: this gateway limits by itself, at a reduced share';
  const back = 'Redis is back: limits are shared again';

  async function until(gateway: TestLimiter, message: string): Promise<void> {
    for (let look = 0; look < 160 && !messages(gateway).includes(message); look += 1) {
      await gateway.limiter.take(tenantWith({ rate: 1 }));
      await pause(50);
    }
    expect(messages(gateway)).to.include(message);
  }

  it('goes on at half the limits, says so once, and shares again when Redis is back', async () => {
    const gateway = await open();
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(20);
    await redis.kill();
    await until(gateway, outage);
    const tenant = tenantWith({ rate: 20, burst: 6 });
    expect(await allowed(gateway.limiter, tenant, 50)).to.equal(13);
    const { headers } = await gateway.limiter.take(tenant);
    expect(headers['RateLimit-Policy']).to.equal('"rate";q=10;w=1, "burst";q=3;w=10');
    await redis.start();
    await until(gateway, back);
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(20);
    expect(messages(gateway)).to.deep.equal([outage, back]);
  });

  it('starts without Redis and finds it later', async () => {
    await redis.kill();
    const gateway = await open();
    expect(messages(gateway)).to.deep.equal([outage]);
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(10);
    await redis.start();
    await until(gateway, back);
  });

  it('holds no call for long when Redis hangs', async () => {
    const gateway = await open();
    redis.pause();
    const began = performance.now();
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20, monthlyQuota: 100 }), 50)).to.be.within(
      1,
      20,
    );
    expect(performance.now() - began).to.be.below(2000);
    await until(gateway, outage);
    const later = performance.now();
    for (let call = 0; call < 100; call += 1) await gateway.limiter.take(tenantWith({ rate: 1 }));
    expect(performance.now() - later).to.be.below(1000);
    redis.resume();
    await until(gateway, back);
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(20);
  });

  it('does not take a busy moment of its own for an outage', async () => {
    const gateway = await open();
    const tenant = tenantWith({ rate: 20 });
    const calls = [gateway.limiter.take(tenant), gateway.limiter.take(tenant)];
    const end = performance.now() + 400;
    while (performance.now() < end);
    await Promise.all(calls);
    await pause(300);
    expect(messages(gateway)).to.deep.equal([]);
    expect(await allowed(gateway.limiter, tenantWith({ rate: 20 }), 50)).to.equal(20);
  });

  it('keeps counting a quota through an outage and a Redis that lost its memory', async () => {
    const gateway = await open();
    const tenant = tenantWith({ monthlyQuota: 10 });
    expect(await allowed(gateway.limiter, tenant, 4, 200)).to.equal(4);
    await redis.kill();
    await until(gateway, outage);
    expect(await allowed(gateway.limiter, tenant, 3, 200)).to.equal(3);
    await redis.start();
    await until(gateway, back);
    expect(await allowed(gateway.limiter, tenant, 20, 200)).to.equal(3);
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
    await until(gateway, back);
  });
});
