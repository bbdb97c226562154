import { type DatabaseIntrospector, Kysely, PostgresDialect, PostgresIntrospector, sql } from 'kysely';
import pg from 'pg';
import { GatewayError } from '../errors.js';
import { createDatabase, type Database, migrate, migrationTable, type OpenOptions } from './database.js';
import { reasonOf } from './store-error.js';

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

/** Named, because the migrator otherwise uses a table of another schema. */
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

/**
 * Kysely's PostgreSQL dialect, whose introspection sees the schema that tables are made in and no other. Kysely's own asks about
 * every table of the database, which takes long where there are many, and fails where another program drops one meanwhile.
 */
export class OwnSchemaDialect extends PostgresDialect {
  override createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new OwnSchemaIntrospector(db);
  }
}

/** Names of tables alone: the migrator asks for no more. */
class OwnSchemaIntrospector extends PostgresIntrospector {
  readonly #db: Kysely<unknown>;

  constructor(db: Kysely<unknown>) {
    super(db);
    this.#db = db;
  }

  override async getTables() {
    const { rows } = await sql<{ schema: string; name: string }>`
      select schemaname as schema, tablename as name from pg_catalog.pg_tables where schemaname = current_schema()
    `.execute(this.#db);
    return rows.map((row) => ({ ...row, isView: false, columns: [] }));
  }
}
