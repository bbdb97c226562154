import type { Kysely, Transaction } from 'kysely';
import { ask } from '../database/patiently.js';
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

  return {
    kind,
    handle: db,
    run: (work) => ask(() => work(db), PATIENCE_MS),
    change: (work) => ask(() => db.transaction().execute(work), PATIENCE_MS),
  };
}

/** Whether a statement failed because such a row is there already, on either database. */
export function isDuplicate(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '23505' || code.startsWith('SQLITE_CONSTRAINT');
}
