import { setTimeout as sleep } from 'node:timers/promises';

import { type Kysely, sql } from 'kysely';

import type { AuditEntry } from './model.js';
import { createSqlReads } from './sql-reads.js';
import { createSqlTransaction } from './sql-transaction.js';
import type { Change, KeyStore } from './store.js';
import { isConflict, storeError } from './store-error.js';
import type { Tables } from './tables.js';

export interface SqlStoreOptions {
  kind: KeyStore['kind'];
  db: Kysely<Tables>;
  /** Makes this transaction the only one that changes keys, in whatever process, until it ends. */
  lock: (tx: Kysely<Tables>) => Promise<void>;
  /** How long to go on after conflicts, ms. */
  patience: number;
}

type Listener = (changes: Omit<Change, 'id'>[]) => void;

/** At most this many keys in one statement of `touch`: two parameters each, well below both databases' limits. */
const TOUCH_ROWS = 500;

/** A key store over Kysely; what the databases do differently comes with the options. */
export function createSqlStore({ kind, db, lock, patience }: SqlStoreOptions): KeyStore {
  const listeners = new Set<Listener>();

  async function attempt<T>(run: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + patience;
    for (;;) {
      try {
        return await run();
      } catch (error) {
        if (!isConflict(error) || performance.now() > deadline) throw storeError(error);
        await sleep(2 + Math.random() * 20);
      }
    }
  }

  const reads = createSqlReads(db);
  return {
    kind,
    async change(work) {
      const { result, log } = await attempt(() =>
        db.transaction().execute(async (tx) => {
          await lock(tx);
          const log: Omit<AuditEntry, 'id'>[] = [];
          const result = await work(createSqlTransaction(tx, (entry) => log.push(entry)));
          return { result, log };
        }),
      );
      for (const listener of listeners) listener(log);
      return result;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tenants: (page) => attempt(() => reads.tenants(page)),
    tenant: (name) => attempt(() => reads.tenant(name)),
    keys: (tenant_id, page) => attempt(() => reads.keys(tenant_id, page)),
    key: (id) => attempt(() => reads.key(id)),
    find: (hashes) => attempt(() => reads.find(hashes)),
    audit: (page) => attempt(() => reads.audit(page)),
    lastChange: () => attempt(() => reads.lastChange()),
    changesFrom: (id, limit) => attempt(() => reads.changesFrom(id, limit)),
    async touch(lastUsed) {
      // Sorted, so that two gateways take their row locks in one order and cannot wait for each other.
      const rows = [...lastUsed].sort(([a], [b]) => (a < b ? -1 : 1));
      for (let start = 0; start < rows.length; start += TOUCH_ROWS) {
        const part = rows.slice(start, start + TOUCH_ROWS);
        await attempt(() => db.transaction().execute((tx) => touchRows(tx, part)));
      }
    },
    async close() {
      listeners.clear();
      await db.destroy();
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
