/**
 * A gateway process that asks its limiter as often as it can, for tests that run two. Takes the address of a Redis,
 * a prefix, a tenant's id, its rate and burst, its quota (or `null`) and the milliseconds to go on; sends the times
 * (epoch milliseconds) of the calls allowed.
 */
import { createSqliteDatabase } from '../databases.js';
import { createTestLimiter } from './gateways.js';

const [redisUrl = '', redisPrefix = '', id = '', ...numbers] = process.argv.slice(2);
const [rate = 0, burst = 0, monthlyQuota = null, goOnMs = 0]: (number | null)[] = numbers.map((text) =>
  JSON.parse(text),
);
const database = await createSqliteDatabase();
const gateway = await createTestLimiter({ database: await database.connect(), redisUrl, redisPrefix });
const tenant = { id, limits: { rate: rate ?? 0, burst: burst ?? 0, monthlyQuota, inFlight: null } };

process.send?.('ready');
process.once('message', async () => {
  const allowed: number[] = [];
  const end = performance.now() + (goOnMs ?? 0);
  while (performance.now() < end) {
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => gateway.limiter.take(tenant)));
    for (const verdict of verdicts) {
      if (!verdict.allowed) continue;
      verdict.settle(200);
      allowed.push(Date.now());
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await gateway.close();
  await database.drop();
  process.send?.(allowed, () => process.disconnect());
});
