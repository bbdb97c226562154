import { constants } from 'node:fs';
import { access, readdir, readlink, realpath, stat } from 'node:fs/promises';
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
  /** The shortest of three reads. */
  roundTripMs: number;
  /** Its clock minus this host's; 0 where it has none of its own. */
  aheadMs: number;
  /** Processes of gateways and commands that have it open; undefined where that cannot be seen. */
  users: number | undefined;
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
  // Before this process opens it too.
  const users = await usersOf(await realpath(file));
  const connection = await retryConflicts(async () => openConnection(file));
  const ask: Ask = async (sql) => {
    const { rows } = await retryConflicts(() => connection.query({ sql, parameters: [], reads: true }));
    return rows as Record<string, unknown>[];
  };
  try {
    const [row = {}] = await ask(`
      select sqlite_version() as version, exists (select 1 from sqlite_schema where name = '${migrationTable}') as used`);
    const seen = await inspectTables(ask, row.used);
    return { ...seen, version: `SQLite ${row.version}`, faults: [], aheadMs: 0, users };
  } finally {
    await connection.close();
  }
}

/** Processes of this host that have a file open. Linux alone shows them, and only root sees those of all users. */
async function usersOf(file: string): Promise<number | undefined> {
  const processes = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const opened = await Promise.all(
    processes.map(async (pid) => {
      const handles = await readdir(`/proc/${pid}/fd`).catch(() => []);
      const files = handles.map((each) => readlink(`/proc/${pid}/fd/${each}`).catch(() => ''));
      return (await Promise.all(files)).includes(file);
    }),
  );
  const seesAll = processes.length > 0 && process.getuid?.() === 0;
  return opened.filter(Boolean).length || (seesAll ? 0 : undefined);
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
        current_setting('transaction_read_only') = 'on' as reads_only,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
        (select count(*)::int from pg_stat_activity
          where application_name = 'helper-gateway' and datname = current_database()) as users`);
    const aheadMs = Number(row.now) - Date.now();
    const faults = [
      Number(row.number) < leastPostgres * 10_000 && `it is older than PostgreSQL ${leastPostgres}`,
      row.schema === null && 'the search_path of this user names no schema',
      !row.creates && `this user may not create tables in the schema ${row.schema}`,
      row.reads_only && 'it accepts no writes: DATABASE_URL must name the primary',
    ].filter((each) => typeof each === 'string');
    const seen = await inspectTables(ask, row.used);
    return { ...seen, version: `PostgreSQL ${row.version}`, faults, aheadMs, users: Number(row.users) };
  } finally {
    await client.end();
  }
}

async function inspectTables(
  ask: Ask,
  isUsed: unknown,
): Promise<Pick<DatabaseReport, 'migrations' | 'roundTripMs'>> {
  const migrations = isUsed ? await ask(`select name from ${migrationTable}`) : [];
  let roundTripMs = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 3; times += 1) {
    const began = performance.now();
    await ask('select 1');
    roundTripMs = Math.min(roundTripMs, performance.now() - began);
  }
  return { migrations: migrations.map(({ name }) => String(name)), roundTripMs };
}
