import { pino } from 'pino';
import { createBatchWriter } from '../../gateway/database/batch-writer.js';
import { createKeyAdmin } from '../../gateway/keys/admin.js';
import { createKeyStore } from '../../gateway/keys/sql-store.js';
import { openRedisCounts } from '../../gateway/limits/shared-counts.js';
import { createSigningSecrets } from '../../gateway/signing/signing-secrets.js';
import { createUsageMeter } from '../../gateway/usage/meter.js';
import { createPostgresDatabase, type TestDatabase } from '../gateway/databases.js';
import { forget } from '../gateway/limits/redis-servers.js';
import type { Measured } from './inputs.js';

const logger = pino({ level: 'silent' });
const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379';

/** Measures here what stands in a service that can be asked here. */
export async function measureHere(): Promise<Partial<Record<keyof Measured, number>>> {
  const database = await createPostgresDatabase();
  try {
    return {
      ...(await measureRedis()),
      ...(await measurePolls(database)),
      ...(await measureBatches(database)),
    };
  } finally {
    await database.drop();
  }
}

/** Milliseconds that each of so many took, `atOnce` at a time. */
async function eachMs(
  number: number,
  atOnce: number,
  one: (at: number) => Promise<unknown>,
): Promise<number> {
  let started = 0;
  const began = performance.now();
  const worker = async () => {
    while (started < number) {
      started += 1;
      await one(started);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return (performance.now() - began) / number;
}

async function measureRedis() {
  const prefix = `hg-simulate-${process.pid}:`;
  const counts = await openRedisCounts({
    url: redisUrl,
    prefix,
    commandTimeoutMs: 10_000,
    logger,
    outageShare: 1,
  });
  const take = (at: number) => counts.rate.take(`tenant ${at % 100}`, 1_000_000_000, 0);
  await eachMs(500, 1, take);
  const redisTripMs = await eachMs(3_000, 1, take);
  const redisCountsPerSecond = 1000 / (await eachMs(40_000, 100, take));
  counts.close();
  await forget(redisUrl, prefix);
  return { redisTripMs, redisCountsPerSecond };
}

async function measurePolls(database: TestDatabase) {
  const store = createKeyStore((await database.connect()).access());
  const admin = createKeyAdmin({
    store,
    signing: createSigningSecrets(['x'.repeat(40)]),
    services: () => [],
  });
  for (let made = 0; made < 50; made += 1) await admin.createTenant(`tenant-${made}`, 'simulate');
  const last = await store.lastChange();
  const poll = () => store.changesFrom(last?.id ?? 0, 500);
  await eachMs(200, 1, poll);
  return { pollMs: await eachMs(1_000, 1, poll), pollsPerSecond: 1000 / (await eachMs(5_000, 5, poll)) };
}

async function measureBatches(database: TestDatabase) {
  const open = async () => {
    const access = (await database.connect()).access();
    const writer = createBatchWriter({ access, logger, flushEveryMs: 4_000 });
    return { writer, meter: createUsageMeter({ access, writer, logger }) };
  };
  type Gateway = Awaited<ReturnType<typeof open>>;
  const write = ({ writer, meter }: Gateway, rows: number, tenant: string) => {
    for (let row = 0; row < rows; row += 1) {
      const call = {
        tenant,
        key: `key ${row}`,
        service: 'a/b',
        status: 200,
        bytesIn: 1,
        bytesOut: 1,
        cpuMs: 1,
      };
      meter.record(call);
    }
    return writer.flush();
  };
  const gateways = await Promise.all(Array.from({ length: 8 }, open));
  const [one] = gateways as [Gateway];
  await eachMs(20, 1, () => write(one, 200, 'one'));
  const small = await eachMs(150, 1, () => write(one, 1, 'one'));
  const large = await eachMs(50, 1, () => write(one, 201, 'one'));
  const together = async (tenantOf: (at: number) => string) => {
    const rounds = 60;
    const began = performance.now();
    await Promise.all(
      gateways.map(async (gateway, at) => {
        for (let round = 0; round < rounds; round += 1) await write(gateway, 1, tenantOf(at));
      }),
    );
    return (gateways.length * rounds * 1000) / (performance.now() - began);
  };
  const commitsPerSecond = await together((at) => `tenant ${at}`);
  const sameRowCommitsPerSecond = await together(() => 'one');
  for (const { writer } of gateways) await writer.close();
  return {
    batchMs: small,
    batchRowMs: Math.max(0, large - small) / 200,
    commitsPerSecond,
    sameRowCommitsPerSecond,
  };
}
