import { pino } from 'pino';
import { createBatchWriter } from '../../gateway/database/batch-writer.js';
import { createKeyAdmin } from '../../gateway/keys/admin.js';
import { createKeyStore } from '../../gateway/keys/store.js';
import { openRedisCounts } from '../../gateway/limits/redis.js';
import { createSigningSecrets } from '../../gateway/signing/signing-secrets.js';
import { createUsageMeter } from '../../gateway/usage/meter.js';
import { createPostgresDatabase, type TestDatabase } from '../gateway/databases.js';
import { compileRecipe } from '../gateway/keys/recipe-compiler.js';
import { forget } from '../gateway/limits/redis-servers.js';
import { inParallel } from '../soak/client.js';

/** A figure that the simulation is fed with, and where it is from. */
export type Input = { value: number; unit: string; source: string };

const input = (value: number, unit: string, source: string): Input => ({ value, unit, source });

/** A floor: the machine had other work when this was written down. */
const busyHere = 'npm run simulate -- --measure: two cores that were busy with other work';

/** What was measured; `--measure` measures anew what it can, for that run. */
export const measured = {
  cachedMs: input(0.25, 'ms CPU', 'gateway/pipeline/reuse.md: a cached result, 768 px, again'),
  smallMs: input(12, 'ms CPU', 'gateway/pipeline/reuse.md: a border by url, 768 px, first'),
  largeMs: input(49, 'ms CPU', 'gateway/pipeline/reuse.md: a border by url, 2500 px, first'),
  watermarkMs: input(56, 'ms CPU', 'plugins/media/README.md: watermark, jpg, 2500 × 1786'),
  verifyMs: input(0.002, 'ms CPU', 'gateway/keys/README.md: a cached key'),
  redisTripMs: input(0.07, 'ms', 'gateway/limits/README.md: rate, Redis on the same host'),
  redisCountsPerSecond: input(19_700, 'counts/s', busyHere),
  pollMs: input(2.02, 'ms', busyHere),
  batchMs: input(7.92, 'ms', busyHere),
  batchRowMs: input(0.0476, 'ms', busyHere),
  pollsPerSecond: input(1880, 'reads/s', busyHere),
  commitsPerSecond: input(237, 'commits/s', busyHere),
  sameRowCommitsPerSecond: input(236, 'commits/s', busyHere),
};

export type Measured = typeof measured;

/** What the product does, by its code. */
export const product = {
  connections: input(5, 'connections', 'gateway/database/postgres.ts: of each process'),
  batchSeconds: input(2, 's', 'gateway/database/batch-writer.ts: between two batches'),
  pollSeconds: input(1, 's', 'gateway/keys/verifier.ts: between two reads of the change feed'),
  lastUsedSeconds: input(4, 's', 'gateway/keys/verifier.ts: between two writes of when keys were used'),
  queue: input(64, 'places', 'HELPER_POOL_QUEUE'),
  itemTransactions: input(
    2,
    'transactions',
    'gateway/jobs/runner: start and end of an item that comes alone',
  ),
  itemCommands: input(3, 'commands', 'gateway/jobs/queue: add, take and done of an item'),
};

/** What is assumed of the world: your own calls are not measured here. */
export const world = {
  cores: input(2, 'cores', 'a gateway as large as the machine that all was measured on'),
  peakLoad: input(0.7, 'of the cores', 'the hour of the day with the most calls'),
  nightLoad: input(0.15, 'of the cores', 'the hour with the fewest'),
  tenantsPerGateway: input(50, 'tenants', 'they call by a Zipf law of exponent 1'),
  quotaShare: input(0.5, 'of the calls', 'of tenants that have a monthly quota: a second count'),
  itemShare: input(0.1, 'of the calls', 'as many items of jobs beside them'),
  maxConnections: input(100, 'connections', 'PostgreSQL as it comes'),
  autoscalerSeconds: input(90, 's', 'from a lost zone to gateways in its place'),
};

/** What is called: of which kind how many of the calls. */
export const mix = [
  { kind: 'cached', share: 0.5, ms: (from: Measured) => from.cachedMs.value },
  { kind: 'small picture', share: 0.3, ms: (from: Measured) => from.smallMs.value },
  { kind: 'large picture', share: 0.12, ms: (from: Measured) => from.largeMs.value },
  { kind: 'watermark', share: 0.08, ms: (from: Measured) => from.watermarkMs.value },
];

/** CPU of the average call, ms. */
export function meanMs(from: Measured): number {
  return mix.reduce((sum, { share, ms }) => sum + share * ms(from), 0) + from.verifyMs.value;
}

const logger = pino({ level: 'silent' });
const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379';

/** Measures here what stands in a service that can be asked here. */
export async function measureHere(): Promise<Partial<Record<keyof Measured, number>>> {
  const database = await createPostgresDatabase();
  try {
    const ofDatabase = { ...(await measurePolls(database)), ...(await measureBatches(database)) };
    return { ...(await measureRedis()), ...ofDatabase };
  } finally {
    await database.drop();
  }
}

/** Milliseconds that each of so many took, `atOnce` at a time. */
async function eachMs(times: number, at: number, one: (index: number) => Promise<unknown>) {
  const began = performance.now();
  await inParallel({ at, times, goesOn: () => true }, one);
  return (performance.now() - began) / times;
}

async function measureRedis() {
  const prefix = `hg-simulate-${process.pid}:`;
  const options = { url: redisUrl, prefix, commandTimeoutMs: 10_000, outageShare: 1 };
  const counts = await openRedisCounts({ ...options, logger });
  const consume = (at: number) => counts.rate.consume(`tenant ${at % 100}`, 1_000_000_000, 0);
  await eachMs(500, 1, consume);
  const redisTripMs = await eachMs(3_000, 1, consume);
  const redisCountsPerSecond = 1000 / (await eachMs(40_000, 100, consume));
  counts.close();
  await forget(redisUrl, prefix);
  return { redisTripMs, redisCountsPerSecond };
}

async function measurePolls(database: TestDatabase) {
  const store = createKeyStore((await database.connect()).access());
  const signing = createSigningSecrets(['x'.repeat(40)]);
  const admin = createKeyAdmin({ store, signing, compileRecipe, services: () => [] });
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
      const call = { tenant, key: `key ${row}`, service: 'a/b', status: 200, code: 'ok' };
      meter.record({ ...call, ms: 5, requestId: 'r', bytesIn: 1, bytesOut: 1, cpuMs: 1 });
    }
    return writer.flush();
  };
  const gateways = await Promise.all(Array.from({ length: 8 }, open));
  const [one] = gateways as [Gateway];
  await eachMs(20, 1, () => write(one, 200, 'one'));
  const batchMs = await eachMs(150, 1, () => write(one, 1, 'one'));
  const large = await eachMs(50, 1, () => write(one, 201, 'one'));
  const together = async (tenantOf: (at: number) => string) => {
    const times = 60;
    const began = performance.now();
    const writes = (gateway: Gateway, at: number) => eachMs(times, 1, () => write(gateway, 1, tenantOf(at)));
    await Promise.all(gateways.map(writes));
    return (gateways.length * times * 1000) / (performance.now() - began);
  };
  const commitsPerSecond = await together((at) => `tenant ${at}`);
  const sameRowCommitsPerSecond = await together(() => 'one');
  for (const { writer } of gateways) await writer.close();
  const batchRowMs = Math.max(0, large - batchMs) / 200;
  return { batchMs, batchRowMs, commitsPerSecond, sameRowCommitsPerSecond };
}
