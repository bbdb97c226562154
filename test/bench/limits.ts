/** Prints what asking the limiter costs a call: `node dist/test/bench/limits.js`; Redis only with REDIS_URL. */
import { createBatchWriter } from '../../gateway/database/batch-writer.js';
import { createLimiter } from '../../gateway/limits/limiter.js';
import { createUsageMeter } from '../../gateway/usage/meter.js';
import { Admission } from '../../pool/admission.js';
import { createSqliteDatabase } from '../gateway/databases.js';
import { forget } from '../gateway/limits/redis-servers.js';

const logger = { info() {}, warn: console.warn, error: console.error };
const mostRate = 1_000_000_000;

async function measure(name: string, calls: number, call: () => unknown): Promise<void> {
  for (let warmUp = 0; warmUp < calls / 10; warmUp += 1) await call();
  const began = performance.now();
  for (let done = 0; done < calls; done += 1) await call();
  const each = ((performance.now() - began) * 1000) / calls;
  console.log(`${name.padEnd(44)} ${each.toFixed(2).padStart(9)} µs`);
}

const files = await createSqliteDatabase();
const database = await files.connect();
const writer = createBatchWriter({ access: database.access(), logger });

async function measureLimiter(where: string, calls: number, redisUrl?: string): Promise<void> {
  const redisPrefix = `hg-bench-${process.pid}:`;
  const limiter = await createLimiter({
    access: database.access(),
    writer,
    logger,
    redisUrl,
    redisPrefix,
  });
  const kinds = {
    'rate allowed': { rate: mostRate, burst: 0, monthlyQuota: null, inFlight: null },
    'rate refused': { rate: 1, burst: 0, monthlyQuota: null, inFlight: null },
    'rate and quota, settled': { rate: mostRate, burst: 0, monthlyQuota: mostRate, inFlight: null },
  };
  for (const [kind, limits] of Object.entries(kinds)) {
    const tenant = { id: kind, limits };
    await measure(`${where}: ${kind}`, calls, async () => {
      const verdict = await limiter.take(tenant);
      if (verdict.allowed) verdict.settle(200);
    });
  }
  limiter.close();
  if (redisUrl) await forget(redisUrl, redisPrefix);
}

await measureLimiter('memory', 200_000);
if (process.env.REDIS_URL) await measureLimiter('Redis', 5000, process.env.REDIS_URL);

const admission = new Admission(66);
const asker = { tenant: 't', weight: 1, most: 8 };
await measure('place in the pool: take and give back', 200_000, () => {
  const taken = admission.take(asker);
  if (typeof taken === 'function') taken();
});

const meter = createUsageMeter({ access: database.access(), writer, logger });
await measure('usage: record', 200_000, () =>
  meter.record({ tenant: 't', key: 'k', service: 'text/a', status: 200, bytesIn: 1, bytesOut: 1, cpuMs: 0 }),
);

await meter.close();
await writer.close();
await files.drop();
