import { Kysely, PostgresDialect, PostgresIntrospector, sql } from 'kysely';
import pg from 'pg';
import { GatewayError } from '../errors.js';
import { createDatabase, type Database, migrate, migrationTable, type OpenOptions } from './database.js';
import { reasonOf } from './store-error.js';

const int8 = 20;
/** Everything hot is read through caches, so few are needed. */
const connections = 5;
const statementTimeoutMs = 5_000;

/** The ends of all waits on a pool of connections. */
export const poolLimits = {
  connectionTimeoutMillis: 3_000,
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: 10_000,
  // For a server that has vanished without a word; a second later than its own limit.
  query_timeout: statementTimeoutMs + 1_000,
  keepAlive: true,
};

/** Connects to `postgres://…` and brings the tables up to date in the first schema of the search path. */
export async function openPostgres(url: string, options: OpenOptions): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    ...poolLimits,
    application_name: 'helper-gateway',
    types: { getTypeParser: integersAsNumbers },
  });
  // Without a listener, a connection lost while idle would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  // The same for one that is lost between two statements of a transaction; the next statement reports it.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<unknown>({ dialect: new OwnSchemaDialect({ pool }) });
  try {
    const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db);
    // Named, because the migrator otherwise uses a table of another schema.
    const schema = rows[0]?.schema;
    if (!schema) throw new Error('The search_path of this PostgreSQL user names no schema.');
    if (!options.create && !(await isGateways(db))) throw noDatabase(new URL(url), schema);
    await migrate(db, options.migrations('postgres'), schema);
  } catch (error) {
    await db.destroy();
    if (error instanceof GatewayError) throw error;
    throw new Error(`The PostgreSQL database cannot be used: ${reasonOf(error)}`, { cause: error });
  }
  return createDatabase(db, 'postgres');
}

async function isGateways(db: Kysely<unknown>): Promise<boolean> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  return tables.some(({ name }) => name === migrationTable);
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

/** Kysely's dialect asks about every table of the database: slow for many, and it fails where one is being dropped. */
class OwnSchemaDialect extends PostgresDialect {
  override createIntrospector(db: Kysely<unknown>) {
    // Names of tables alone: the migrator asks for no more.
    const getTables = async () => {
      const { rows } = await sql<{ schema: string; name: string }>`
        select schemaname as schema, tablename as name from pg_catalog.pg_tables where schemaname = current_schema()
      `.execute(db);
      return rows.map((row) => ({ ...row, isView: false, columns: [] }));
    };
    return Object.assign(new PostgresIntrospector(db), { getTables });
  }
}
