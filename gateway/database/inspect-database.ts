import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { migrationTable, retryConflicts } from './database.js';
import type { DatabaseLocation } from './open-database.js';
import { openConnection } from './sqlite-connection.js';
import { codeOf } from './store-error.js';

/** What can be seen of a database without changing it. */
export interface DatabaseReport {
  /** `PostgreSQL 16.2`. */
  version: string;
  /** Why no gateway can use it although it answers. */
  faults: string[];
  /** Names of the migrations that were run; none where no gateway has used it yet. */
  migrations: string[];
  /** Of a read that looks for nothing. */
  roundTripMs: number;
}

type Ask = (sql: string) => Promise<Record<string, unknown>[]>;

/** Looks at a database; undefined where there is none yet. Rejects where it cannot be opened. */
export async function inspectDatabase({ databaseUrl, dataDir }: DatabaseLocation) {
  return databaseUrl === undefined
    ? inspectSqlite(join(dataDir, 'gateway.db'))
    : inspectPostgres(databaseUrl);
}

async function inspectSqlite(file: string): Promise<DatabaseReport | undefined> {
  const about = await stat(file).catch((error) =>
    codeOf(error) === 'ENOENT' ? undefined : Promise.reject(error),
  );
  if (!about?.size) return undefined;
  await access(file, constants.R_OK | constants.W_OK);
  const connection = await retryConflicts(async () => openConnection(file));
  const ask: Ask = async (sql) => {
    const { rows } = await retryConflicts(() => connection.query({ sql, parameters: [], reads: true }));
    return rows as Record<string, unknown>[];
  };
  try {
    const [row = {}] = await ask(`
      select sqlite_version() as version, exists (select 1 from sqlite_schema where name = '${migrationTable}') as used`);
    return { version: `SQLite ${row.version}`, faults: [], ...(await inspectTables(ask, row.used)) };
  } finally {
    await connection.close();
  }
}

const leastPostgres = 13;

async function inspectPostgres(databaseUrl: string): Promise<DatabaseReport> {
  // Imported only where it is used, as the other has no need of its driver.
  const [{ default: pg }, { poolLimits }] = await Promise.all([import('pg'), import('./postgres.js')]);
  const client = new pg.Client({ connectionString: databaseUrl, ...poolLimits });
  // The next statement reports a lost connection.
  client.on('error', () => undefined);
  await client.connect();
  const ask: Ask = async (sql) => (await client.query(sql)).rows;
  try {
    const [row = {}] = await ask(`
      select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
        current_schema() as schema, to_regclass(quote_ident(current_schema()) || '.${migrationTable}') is not null as used,
        coalesce(has_schema_privilege(current_schema(), 'create'), true) as creates,
        current_setting('transaction_read_only') = 'on' as reads_only`);
    const faults = [
      Number(row.number) < leastPostgres * 10_000 && `it is older than PostgreSQL ${leastPostgres}`,
      row.schema === null && 'the search_path of this user names no schema',
      !row.creates && `this user may not create tables in the schema ${row.schema}`,
      row.reads_only && 'it accepts no writes: DATABASE_URL must name the primary',
    ].filter((each) => typeof each === 'string');
    return { version: `PostgreSQL ${row.version}`, faults, ...(await inspectTables(ask, row.used)) };
  } finally {
    await client.end();
  }
}

async function inspectTables(ask: Ask, isUsed: unknown) {
  const began = performance.now();
  await ask('select 1');
  const roundTripMs = performance.now() - began;
  const rows = isUsed ? await ask(`select name from ${migrationTable}`) : [];
  return { migrations: rows.map(({ name }) => String(name)), roundTripMs };
}
