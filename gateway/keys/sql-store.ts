import { type Kysely, sql } from 'kysely';
import { createAccess } from '../database/access.js';
import type { Database } from '../database/database.js';
import type { AuditEntry } from './model.js';
import { createSqlReads } from './sql-reads.js';
import { createSqlTransaction } from './sql-transaction.js';
import type { Change, KeyStore } from './store.js';
import type { Tables } from './tables.js';

type Listener = (changes: Omit<Change, 'id'>[]) => void;

/** Any number that nothing else locks; ASCII for `hgkeys`. */
const CHANGE_LOCK = 0x68676b657973;
/** At most this many keys in one statement of `touch`: two parameters each, well below both databases' limits. */
const TOUCH_ROWS = 500;

/** The key store in the gateway's database, which its opener closes. */
export function createKeyStore({ kind, db }: Pick<Database, 'kind' | 'db'>): KeyStore {
  const listeners = new Set<Listener>();
  const { run, change } = createAccess<Tables>(db);
  const reads = createSqlReads(db);
  return {
    kind,
    async change(work) {
      const { result, log } = await change(async (tx) => {
        if (kind === 'postgres') await lockChanges(tx);
        const log: Omit<AuditEntry, 'id'>[] = [];
        const result = await work(createSqlTransaction(tx, (entry) => log.push(entry)));
        return { result, log };
      });
      for (const listener of listeners) listener(log);
      return result;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tenants: (page) => run(() => reads.tenants(page)),
    tenant: (name) => run(() => reads.tenant(name)),
    keys: (tenant_id, page) => run(() => reads.keys(tenant_id, page)),
    key: (id) => run(() => reads.key(id)),
    find: (hashes) => run(() => reads.find(hashes)),
    audit: (page) => run(() => reads.audit(page)),
    lastChange: () => run(() => reads.lastChange()),
    changesFrom: (id, limit) => run(() => reads.changesFrom(id, limit)),
    async touch(lastUsed) {
      // Sorted, so that two gateways take their row locks in one order and cannot wait for each other.
      const rows = [...lastUsed].sort(([a], [b]) => (a < b ? -1 : 1));
      for (let start = 0; start < rows.length; start += TOUCH_ROWS) {
        const part = rows.slice(start, start + TOUCH_ROWS);
        await change((tx) => touchRows(tx, part));
      }
    },
    async close() {
      listeners.clear();
    },
  };
}

async function touchRows(db: Kysely<Tables>, rows: [id: string, at: number][]): Promise<void> {
  const values = sql.join(rows.map(([id, at]) => sql`(cast(${id} as text), cast(${at} as bigint))`));
  await sql`
    update keys set last_used_at = used.column2 from (values ${values}) as used
    where keys.id = used.column1 and (keys.last_used_at is null or keys.last_used_at < used.column2)
  `.execute(db);
}

/**
 * PostgreSQL hands out serial numbers before the commit, so a reader who asks for "all after 7" could see 9, and miss 8 for
 * ever when it is committed later. One change at a time keeps the numbers in the order of the commits.
 */
async function lockChanges(tx: Kysely<Tables>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${CHANGE_LOCK}::bigint)`.execute(tx);
}
