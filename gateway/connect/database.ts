import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { isConflict, storeError } from '../database/database-error.js';
import type { ConnectHandle, ConnectTables } from './tables.js';

/** The site's way to its tables: tries again where another process holds a lock, and says so where nothing answers. */
export interface ConnectDatabase {
  readonly kind: 'sqlite' | 'postgres';
  readonly handle: Kysely<ConnectTables>;
  /** Runs one statement. Rejects with `keys_unavailable` where the database does not answer. */
  run<T>(work: (db: Kysely<ConnectTables>) => Promise<T>): Promise<T>;
  /** Runs `work` as one transaction, again from its start after a conflict. */
  change<T>(work: (trx: Transaction<ConnectTables>) => Promise<T>): Promise<T>;
}

const PATIENCE_MS = 5_000;

export function createConnectDatabase(handle: ConnectHandle, kind: 'sqlite' | 'postgres'): ConnectDatabase {
  const db: Kysely<ConnectTables> = handle;

  async function patiently<T>(work: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isConflict(error) || performance.now() > deadline) throw storeError(error);
        await sleep(2 + Math.random() * 20);
      }
    }
  }

  return {
    kind,
    handle: db,
    run: (work) => patiently(() => work(db)),
    change: (work) => patiently(() => db.transaction().execute(work)),
  };
}

/** Whether a statement failed because such a row is there already, on either database. */
export function isDuplicate(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '23505' || code.startsWith('SQLITE_CONSTRAINT');
}
