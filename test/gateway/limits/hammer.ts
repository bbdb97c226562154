/**
 * A gateway process that asks its limiter over and over, for tests that run two. Takes the address of a Redis and a prefix; for each
 * message, asks for its tenant for so long, or for longer where a busy machine lets it ask too seldom, and sends how many calls were
 * allowed.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { LimitedTenant } from '../../../gateway/limits/limiter.js';
import { createSqliteDatabase } from '../databases.js';
import { createTestLimiter } from './gateways.js';

export interface Hammering {
  tenant: LimitedTenant;
  ms: number;
}

const [redisUrl = '', redisPrefix = ''] = process.argv.slice(2);
const database = await createSqliteDatabase();
const gateway = await createTestLimiter({ database: await database.connect(), redisUrl, redisPrefix });

/** Of ten calls each. */
const leastRounds = 20;

process.send?.('ready');
process.on('message', async ({ tenant, ms }: Hammering) => {
  let allowed = 0;
  const end = performance.now() + ms;
  for (let round = 0; round < leastRounds || performance.now() < end; round += 1) {
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => gateway.limiter.take(tenant)));
    for (const verdict of verdicts) {
      if (!verdict.allowed) continue;
      verdict.settle(200);
      allowed += 1;
    }
    await pause(10);
  }
  process.send?.(allowed);
});
process.once('disconnect', async () => {
  await gateway.close();
  await database.drop();
});
