import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Database, DatabaseOptions } from './database.js';
import { reasonOf } from './database-error.js';
import { migrate } from './migrations.js';

const INT8 = 20;
/** Everything hot is read through caches, so few are needed. */
const CONNECTIONS = 5;
const STATEMENT_TIMEOUT_MS = 5_000;

/**
 * Connects to PostgreSQL (`postgres://user:password@host:port/database`) and brings the tables up to date in the first
 * schema of the search path. No wait is without an end: 3 s for a connection, 5 s for a statement.
 */
export async function openPostgres(url: string, options: DatabaseOptions = {}): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
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
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  try {
    await migrate(db, 'postgres', await targetSchema(db));
  } catch (error) {
    await db.destroy();
    throw new Error(`The PostgreSQL database cannot be used: ${reasonOf(error)}`, { cause: error });
  }
  return { kind: 'postgres', db, close: () => db.destroy() };
}

/** Named, because the migrator otherwise takes a table of another schema for its own. */
async function targetSchema(db: Kysely<unknown>): Promise<string> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db);
  const schema = rows[0]?.schema;
  if (typeof schema !== 'string') throw new Error('The search_path of this PostgreSQL user names no schema.');
  return schema;
}

/** int8 comes as text by default; times and counts stay below 2^53, where a number holds them exactly. */
function integersAsNumbers(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format);
}
