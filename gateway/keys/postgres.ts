import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

import { migrate } from './migrations.js';
import { createSqlStore } from './sql-store.js';
import type { KeyStore } from './store.js';
import { reasonOf } from './store-error.js';
import type { Tables } from './tables.js';

export interface PostgresOptions {
  /** Connections at most, 5 by default; keys are read through a cache, so few are needed. */
  connections?: number;
  /** Gets the reason when an idle connection is lost; it is replaced by itself. */
  onConnectionLost?: (error: Error) => void;
}

const INT8 = 20;
/** Any number that nothing else locks; ASCII for `hgkeys`. */
const CHANGE_LOCK = 0x68676b657973;
const STATEMENT_TIMEOUT_MS = 5_000;

/**
 * Connects to PostgreSQL (`postgres://user:password@host:port/database`) and brings the tables up to date in the first
 * schema of the search path. No wait is without an end: 3 s for a connection, 5 s for a statement.
 */
export async function openPostgresStore(url: string, options: PostgresOptions = {}): Promise<KeyStore> {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connections ?? 5,
    connectionTimeoutMillis: 3_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: 10_000,
    // For a server that has vanished without a word; a second later than its own limit.
    query_timeout: STATEMENT_TIMEOUT_MS + 1_000,
    keepAlive: true,
    application_name: 'helper-gateway',
    types: { getTypeParser: integersAsNumbers },
  });
  // Without a listener, a connection lost while idle would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  // The same for one that is lost between two statements of a transaction; the next statement reports it.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    await migrate(db, 'postgres', await targetSchema(db));
  } catch (error) {
    await db.destroy();
    throw new Error(`The PostgreSQL database cannot be used: ${reasonOf(error)}`, { cause: error });
  }
  return createSqlStore({ kind: 'postgres', db, lock: lockChanges, patience: STATEMENT_TIMEOUT_MS });
}

/**
 * PostgreSQL hands out serial numbers before the commit, so a reader who asks for "all after 7" could see 9, and miss 8 for
 * ever when it is committed later. One change at a time keeps the numbers in the order of the commits.
 */
async function lockChanges(tx: Kysely<Tables>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${CHANGE_LOCK}::bigint)`.execute(tx);
}

/** Named, because the migrator otherwise takes a table of another schema for its own. */
async function targetSchema(db: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db);
  const schema = rows[0]?.schema;
  if (typeof schema !== 'string') throw new Error('The search_path of this PostgreSQL user names no schema.');
  return schema;
}

/** int8 comes as text by default; times and counts stay below 2^53, where a number holds them exactly. */
function integersAsNumbers(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format);
}
