import { type Kysely, sql } from 'kysely';
import type { Access } from '../database/access.js';
import { openAuditLog } from './audit-log.js';
import type { AuditEntry } from './model.js';
import { createSqlReads } from './sql-reads.js';
import { createSqlTransaction } from './sql-transaction.js';
import type { Change, KeyStore } from './store.js';
import type { KeyTables } from './tables.js';

type Listener = (changes: Omit<Change, 'id'>[]) => void;

/** At most this many keys in one statement of `touch`: two parameters each, well below both databases' limits. */
const touchRows = 500;

/** The key store in the gateway's database. */
export function createKeyStore(access: Access<KeyTables>): KeyStore {
  const listeners = new Set<Listener>();
  const { kind, change } = access;
  return {
    ...createSqlReads(access),
    async change(work) {
      const { result, log } = await change(async (tx) => {
        const append = await openAuditLog(tx, kind);
        const log: Omit<AuditEntry, 'id'>[] = [];
        const result = await work(
          createSqlTransaction(tx, async (entry) => {
            await append(entry);
            log.push(entry);
          }),
        );
        return { result, log };
      });
      for (const listener of listeners) listener(log);
      return result;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async touch(lastUsed) {
      // Sorted, so that two gateways take their row locks in one order and cannot wait for each other.
      const rows = [...lastUsed].sort(([a], [b]) => (a < b ? -1 : 1));
      for (let start = 0; start < rows.length; start += touchRows) {
        const part = rows.slice(start, start + touchRows);
        await change((tx) => touch(tx, part));
      }
    },
  };
}

async function touch(db: Kysely<KeyTables>, rows: [id: string, at: number][]): Promise<void> {
  const values = sql.join(rows.map(([id, at]) => sql`(cast(${id} as text), cast(${at} as bigint))`));
  await sql`
    update keys set last_used_at = used.column2 from (values ${values}) as used
    where keys.id = used.column1 and (keys.last_used_at is null or keys.last_used_at < used.column2)
  `.execute(db);
}
