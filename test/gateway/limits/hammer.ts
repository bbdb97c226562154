/**
 * A gateway process that asks its limiter as often as it can, for tests that run two. Takes the address of a Redis,
 * a prefix, a tenant's id, its rate and burst, its quota (or `null`) and the milliseconds to go on, which are more where a
 * busy machine lets it ask too seldom; sends how many calls were allowed.
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

/** Of ten calls each. */
const leastRounds = 10;

process.send?.('ready');
process.once('message', async () => {
  let allowed = 0;
  const end = performance.now() + (goOnMs ?? 0);
  for (let round = 0; round < leastRounds || performance.now() < end; round += 1) {
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => gateway.limiter.take(tenant)));
    for (const verdict of verdicts) {
      if (!verdict.allowed) continue;
      verdict.settle(200);
      allowed += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await gateway.close();
  await database.drop();
  process.send?.(allowed, () => process.disconnect());
});
