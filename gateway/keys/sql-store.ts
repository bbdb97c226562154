import { type Kysely, sql } from 'kysely';
import type { Access, DatabaseKind } from '../database/access.js';
import { givenRows } from '../database/given-rows.js';
import { rowsAPiece } from '../database/rows-a-piece.js';
import { slices } from '../database/slices.js';
import { openAuditLog } from './audit-log.js';
import type { AuditEntry } from './model.js';
import { createSqlReads } from './sql-reads.js';
import { createSqlTransaction } from './sql-transaction.js';
import type { Change, KeyStore } from './store.js';
import type { KeyTables } from './tables.js';

type Listener = (changes: Omit<Change, 'id'>[]) => void;

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
      for (const part of slices([...lastUsed], rowsAPiece)) await change((tx) => touch(tx, kind, part));
    },
  };
}

async function touch(
  db: Kysely<KeyTables>,
  kind: DatabaseKind,
  rows: [id: string, at: number][],
): Promise<void> {
  await sql`
    update keys set last_used_at = cast(value ->> 1 as bigint) from ${givenRows(kind, rows)}
    where keys.id = value ->> 0 and (keys.last_used_at is null or keys.last_used_at < cast(value ->> 1 as bigint))
  `.execute(db);
}
