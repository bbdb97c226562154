import { sql } from 'kysely';
import { createBatchWriter } from '../../gateway/database/batch-writer.js';
import { givenRows } from '../../gateway/database/given-rows.js';
import { slices } from '../../gateway/database/slices.js';
import { createKey, digestOf } from '../../gateway/keys/key-format.js';
import { createLastUsed, type UsedKey } from '../../gateway/keys/last-used.js';
import { createKeyStore } from '../../gateway/keys/sql-store.js';
import type { KeyTables } from '../../gateway/keys/tables.js';
import { createKeyVerifier } from '../../gateway/keys/verifier.js';
import { createLimiter } from '../../gateway/limits/limiter.js';
import { createLimitsOf } from '../../gateway/limits/tenant-limits.js';
import { createUsageMeter } from '../../gateway/usage/meter.js';
import type { TestDatabase } from '../gateway/databases.js';

const limitsOf = createLimitsOf({ rate: 1_000_000_000, burst: 0, monthlyQuota: null, inFlight: null });
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
export async function createWorld(files: TestDatabase, tenants: number, keys: number) {
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
      status: 200,
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
