import type { Transaction } from 'kysely';
import { openAuditLog } from '../../keys/audit-log.js';
import type { AuditEntry } from '../../keys/model.js';
import type { SiteDatabase } from '../database.js';
import type { SiteTables } from '../tables.js';

/** Notes who did what; of a tenant where one is named. */
export type Note = (
  entry: Pick<AuditEntry, 'actor' | 'action' | 'detail'> & { tenant_id?: string | null },
) => Promise<void>;

/**
 * Makes a change to people and notes it in the audit log, both in one transaction: one cannot be without the other. The
 * work may run more than once, so it must do nothing but use `trx` and `note`.
 */
export type Audited = <T>(work: (trx: Transaction<SiteTables>, note: Note) => Promise<T>) => Promise<T>;

export function createAudited(database: SiteDatabase, now: () => number = Date.now): Audited {
  return function audited(work) {
    return database.change(async (trx) => {
      const append = await openAuditLog(trx, database.kind);
      return work(trx, ({ tenant_id = null, ...entry }) =>
        append({ at: now(), tenant_id, key_id: null, ...entry }),
      );
    });
  };
}
