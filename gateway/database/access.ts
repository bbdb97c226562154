import type { Kysely, Transaction } from 'kysely';
import { storeError } from './database-error.js';
import { patiently } from './patiently.js';

/**
 * Every room's way to its tables. Where another process holds a lock the work is run again, from its start, without blocking the
 * event loop; where the database does not answer, both reject with `keys_unavailable`, whose cause says why.
 */
export interface Access<Tables> {
  /** Runs one statement, or several that need no common moment. */
  run<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** Runs `work` as one transaction. It may run more than once, so it must do nothing but use `trx`. */
  change<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T>;
}

export function createAccess<Tables>(db: Kysely<Tables>): Access<Tables> {
  async function ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await patiently(work);
    } catch (error) {
      throw storeError(error);
    }
  }

  return {
    run: (work) => ask(() => work(db)),
    change: (work) => ask(() => db.transaction().execute(work)),
  };
}
