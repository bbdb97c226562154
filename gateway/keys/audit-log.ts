import { type QueryExecutorProvider, sql } from 'kysely';
import type { AuditEntry } from './model.js';
import { auditRow } from './rows.js';

/** Adds an entry; it is there if the transaction is committed, and not otherwise. */
export type AppendAudit = (entry: Omit<AuditEntry, 'id'>) => Promise<void>;

/** Any number that nothing else locks; ASCII for `hgkeys`. */
const changeLock = 0x68676b657973;

/**
 * Opens the audit log for the rest of a transaction, of whichever room: to be called first in it. PostgreSQL hands out serial
 * numbers before the commit, so a reader who asks for "all after 7" could see 9, and miss 8 for ever when it is committed
 * later. One change at a time keeps the numbers in the order of the commits; and as all take this lock before they touch a
 * row, no two of them can wait for each other. SQLite has one writer anyway.
 */
export async function openAuditLog(
  trx: QueryExecutorProvider,
  kind: 'sqlite' | 'postgres',
): Promise<AppendAudit> {
  if (kind === 'postgres') await sql`select pg_advisory_xact_lock(${changeLock}::bigint)`.execute(trx);
  return async function appendAudit(entry) {
    const { at, actor, action, tenant_id, key_id, detail } = auditRow(entry);
    // As text, since Kysely's handles are invariant: one that knows the site's tables too would not fit.
    await sql`
      insert into audit (at, actor, action, tenant_id, key_id, detail)
      values (${at}, ${actor}, ${action}, ${tenant_id}, ${key_id}, ${detail})
    `.execute(trx);
  };
}
