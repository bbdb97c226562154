import { Kysely, sql } from 'kysely';
import pg from 'pg';
import { GatewayError } from '../errors.js';
import { createDatabase, type Database, type OpenOptions } from './database.js';
import { reasonOf } from './database-error.js';
import { migrate, migrationTable } from './migrate.js';
import { OwnSchemaDialect } from './postgres-dialect.js';

/** PostgreSQL's number for the type `bigint`. */
const int8 = 20;
/** Everything hot is read through caches, so few are needed. */
const connections = 5;
const statementTimeoutMs = 5_000;

/**
 * Connects to PostgreSQL (`postgres://user:password@host:port/database`) and brings the tables up to date in the first
 * schema of the search path; where there are none of a gateway, `create` makes them. No wait is without an end: 3 s for a
 * connection, 5 s for a statement.
 */
export async function openPostgres(url: string, options: OpenOptions): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: 3_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: 10_000,
    // For a server that has vanished without a word; a second later than its own limit.
    query_timeout: statementTimeoutMs + 1_000,
    keepAlive: true,
    application_name: 'helper-gateway',
    types: { getTypeParser: integersAsNumbers },
  });
  // Without a listener, a connection lost while idle would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  // The same for one that is lost between two statements of a transaction; the next statement reports it.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<unknown>({ dialect: new OwnSchemaDialect({ pool }) });
  try {
    const schema = await targetSchema(db);
    if (!options.create && !(await isGateways(db, schema))) throw noDatabase(new URL(url), schema);
    await migrate(db, options.migrations('postgres'), schema);
  } catch (error) {
    await db.destroy();
    if (error instanceof GatewayError) throw error;
    throw new Error(`The PostgreSQL database cannot be used: ${reasonOf(error)}`, { cause: error });
  }
  return createDatabase(db, 'postgres');
}

/** Named, because the migrator otherwise takes a table of another schema for its own. */
async function targetSchema(db: Kysely<unknown>): Promise<string> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db);
  const schema = rows[0]?.schema;
  if (typeof schema !== 'string') throw new Error('The search_path of this PostgreSQL user names no schema.');
  return schema;
}

async function isGateways(db: Kysely<unknown>, schema: string): Promise<boolean> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  return tables.some((table) => table.schema === schema && table.name === migrationTable);
}

function noDatabase({ host, pathname }: URL, schema: string): GatewayError {
  return new GatewayError('not_found', {
    message: `There is no gateway database at postgres://${host}${pathname}, schema ${schema}. Run the gateway once, or correct DATABASE_URL.`,
  });
}

/** int8 comes as text by default; times and counts stay below 2^53, where a number holds them exactly. */
function integersAsNumbers(oid: number, format?: 'text' | 'binary') {
  return oid === int8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format);
}
