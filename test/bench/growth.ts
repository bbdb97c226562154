import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import { createBatchWriter } from '../../gateway/database/batch-writer.js';
import { givenRows, slices } from '../../gateway/database/rows.js';
import { createLastUsed, type UsedKey } from '../../gateway/keys/key-cache.js';
import { createKey, digestOf } from '../../gateway/keys/model.js';
import { createKeyStore } from '../../gateway/keys/store.js';
import type { KeyTables } from '../../gateway/keys/tables.js';
import { createKeyVerifier } from '../../gateway/keys/verifier.js';
import { createLimiter, createLimitsOf } from '../../gateway/limits/limiter.js';
import { createUsageMeter } from '../../gateway/usage/meter.js';
import { createPostgresDatabase, createSqliteDatabase, type TestDatabase } from '../gateway/databases.js';
import {
  atMost,
  cpuMsOf,
  type Goal,
  mainThreadMs,
  median,
  ownCpuMs,
  printGoals,
  printTable,
  ratio,
} from './measure.js';
import { hammer, startGateway } from './servers.js';

const limitsOf = createLimitsOf({
  rate: 1_000_000_000,
  burst: 0,
  monthlyQuota: null,
  inFlight: null,
  monthlyCpuMs: null,
});
const never = 3_600_000;
const logger = { info() {}, warn: console.warn, error: console.error };

/** Tenants and their keys, written past the gateway: issued one by one they would take minutes. */
async function seed(files: TestDatabase, tenants: number, keys: number): Promise<string[]> {
  const { kind, change } = (await files.connect()).access<KeyTables>();
  const issued = Array.from({ length: keys }, (_, at) => ({ at, key: createKey() }));
  const now = Date.now();
  for (const part of slices(
    Array.from({ length: tenants }, (_, at) => at),
    1000,
  )) {
    const given = givenRows(
      kind,
      part.map((at) => [`ten_${at}`, `t${at}`, now]),
    );
    await change((trx) =>
      sql`insert into tenants (id, name, created_at, weight)
        select value ->> 0, value ->> 1, cast(value ->> 2 as bigint), 1 from ${given}`.execute(trx),
    );
  }
  for (const part of slices(issued, 1000)) {
    const given = givenRows(
      kind,
      part.map(({ at, key }) => [
        `key_${digestOf(key).hash.slice(0, 12)}`,
        `ten_${at % tenants}`,
        now + at,
        digestOf(key).hash,
      ]),
    );
    await change(async (trx) => {
      await sql`insert into keys (id, tenant_id, created_at)
        select value ->> 0, value ->> 1, cast(value ->> 2 as bigint) from ${given}`.execute(trx);
      await sql`insert into secrets (id, key_id, hash, prefix, suffix, created_at)
        select value ->> 0, value ->> 0, value ->> 3, 'hg_0000', '0000', cast(value ->> 2 as bigint) from ${given}`.execute(
        trx,
      );
    });
  }
  return issued.map(({ key }) => key);
}

/** The parts of a gateway that know tenants and keys, on a database of so many. */
async function createWorld(files: TestDatabase, tenants: number, keys: number) {
  const all = await seed(files, tenants, keys);
  const database = await files.connect();
  const store = createKeyStore(database.access());
  const verifier = createKeyVerifier({ store, lastUsedInterval: never, onDown: console.error });
  // In the place of the verifier's own, to be written when the bench says so.
  const lastUsed = createLastUsed(store, never, 100_000);
  let used: UsedKey[] = [];
  const writer = createBatchWriter({ access: database.access(), logger, flushEveryMs: never });
  const usage = createUsageMeter({ access: database.access(), writer, logger });
  const limiter = await createLimiter({ access: database.access(), writer, logger });

  async function call(): Promise<void> {
    const at = Math.floor(Math.random() * all.length);
    const verdict = await verifier.verify(all[at] ?? '');
    if (verdict.state !== 'active') throw new Error(verdict.state);
    const { tenant, key } = verdict;
    const allowed = await limiter.take({ id: tenant.id, limits: limitsOf(tenant.limits) });
    if (!allowed.allowed) throw new Error(allowed.code);
    allowed.settle(200);
    used.push({ id: key.id, created_at: at });
    usage.record({
      tenant: tenant.id,
      key: key.id,
      service: 'text/a',
      ...{ status: 200, code: 'ok', ms: 5, requestId: key.id },
      bytesIn: 9,
      bytesOut: 99,
      cpuMs: 0.1,
    });
  }

  async function warmUp(): Promise<void> {
    for (const part of slices(all, 500)) await Promise.all(part.map((key) => verifier.verify(key)));
  }

  return {
    call,
    warmUp,
    /** What is due every few seconds, at once. */
    async write() {
      for (const key of used) lastUsed.note(key, Date.now());
      used = [];
      await writer.flush();
      await lastUsed.flush();
      await verifier.refresh();
    },
    async close() {
      await verifier.close();
      await writer.close();
      limiter.close();
    },
  };
}

/**
 * Prints what a call costs beside growth: one tenant with one key, and 10,000 tenants with 100,000 keys chosen at random, in turns
 * within one run, measured against a whole small call; and how long the event loop is held at most by what is written and read meanwhile.
 * `node dist/test/bench/growth.js`; on PostgreSQL too, where TEST_DATABASE_URL is set.
 */

const rounds = 9;
/** What comes in two seconds at 5,000 a second, between two writes of the counts. */
const callsARound = 10_000;
const smallCalls = 5_000;
interface Cost {
  /** CPU of the main thread, in microseconds. */
  main: number;
  /** CPU of all threads. */
  all: number;
}

/** What a gateway of one tenant spends on a small call in all: what grows is judged against it. */
async function measureSmallCall(): Promise<Cost> {
  const gateway = await startGateway();
  const query = new URLSearchParams({ a: 'one\ntwo\nthree\n', b: 'one\n2\nthree\n', ak: gateway.key });
  const request = Buffer.from(`GET /text/diff-two-strings?${query} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const ask = () => hammer(gateway.url, request, { connections: 32, calls: smallCalls });
  await ask();
  const costs: Cost[] = [];
  for (let round = 0; round < 5; round += 1) {
    const [before, mainBefore] = [cpuMsOf(gateway.pid), mainThreadMs(gateway.pid)];
    await ask();
    const [all, main] = [cpuMsOf(gateway.pid) - before, mainThreadMs(gateway.pid) - mainBefore];
    costs.push({ main: (main * 1000) / smallCalls, all: (all * 1000) / smallCalls });
  }
  await gateway.close();
  return { main: median(costs.map(({ main }) => main)), all: median(costs.map(({ all }) => all)) };
}

async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [before, mainBefore] = [ownCpuMs(), mainThreadMs()];
  await work();
  return { main: (mainThreadMs() - mainBefore) * 1000, all: (ownCpuMs() - before) * 1000 };
}

/** The longest time for which the event loop has no turn during `work`, in milliseconds. */
async function heldBy(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let done = false;
  const watch = (async () => {
    for (let last = mainThreadMs(); !done; last = mainThreadMs()) {
      await turn();
      longest = Math.max(longest, mainThreadMs() - last);
    }
  })();
  await work();
  done = true;
  await watch;
  return longest;
}

async function compare(name: string, create: () => Promise<TestDatabase>): Promise<void> {
  const files = [await create(), await create()] as const;
  const worlds = [await createWorld(files[0], 1, 1), await createWorld(files[1], 10_000, 100_000)] as const;
  const costs: { calls: Cost; writing: Cost }[][] = [[], []];
  const held: number[] = [];
  for (const world of worlds) await world.warmUp();
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, world] of worlds.entries()) {
      const calls = () => callMany(world.call);
      costs[at]?.push({ calls: await costOf(calls), writing: await costOf(world.write) });
      await calls();
      if (at === 1) held.push(await heldBy(world.write));
    }
  }
  const perCall = (at: number, part: 'calls' | 'writing', threads: keyof Cost) =>
    median((costs[at] ?? []).map((cost) => cost[part][threads] / callsARound));
  const rows: string[][] = [];
  const goals: Goal[] = [];
  for (const threads of ['main', 'all'] as const) {
    const [one, many] = [0, 1].map((at) => perCall(at, 'calls', threads)) as [number, number];
    const [oneWritten, manyWritten] = [0, 1].map((at) => perCall(at, 'writing', threads)) as [number, number];
    const from = one + oneWritten;
    const to = many + manyWritten;
    const of = `${threads} ${threads === 'main' ? 'thread' : 'threads'}`;
    rows.push([`${of}: key, limits, usage`, one.toFixed(1), many.toFixed(1), '']);
    rows.push([`${of}: writing`, oneWritten.toFixed(1), manyWritten.toFixed(1), '']);
    const grown = small[threads] + to - from;
    rows.push([
      `${of}: a small call`,
      small[threads].toFixed(1),
      grown.toFixed(1),
      ratio(grown, small[threads]),
    ]);
    if (threads === 'all') continue;
    const figure = grown / small.main;
    goals.push(atMost(1.2, `${name}: CPU of a small call`, figure, '×'));
  }
  goals.push(atMost(10, `${name}: event loop held while that is written, most`, Math.max(...held), 'ms'));
  printTable([`${name}, µs of CPU a call`, '1 key', '100,000 keys', ''], rows);
  console.log(
    `  while that was written the event loop was held for ${median(held).toFixed(1)} ms in the median\n`,
  );
  printGoals(goals);
  for (const world of worlds) await world.close();
  for (const one of files) await one.drop();
}

async function callMany(call: () => Promise<void>): Promise<void> {
  for (let done = 0; done < callsARound; done += 1) {
    await call();
    if (done % 100 === 0) await turn();
  }
}

const small = await measureSmallCall();
console.log(
  `a small call (GET of a diff of three lines) costs a gateway ${small.main.toFixed(0)} µs of its main thread, ${small.all.toFixed(0)} of all`,
);
await compare('SQLite', () => createSqliteDatabase({ ownThread: true }));
if (process.env.TEST_DATABASE_URL) await compare('PostgreSQL', createPostgresDatabase);
