import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely';
import Database from 'libsql';
import pg from 'pg';
import { usageMigration } from '../../../gateway/usage/migration.js';
import type { UsageTables } from '../../../gateway/usage/tables.js';

/** Says how to reach a test database; also from another process, as JSON. */
export type DatabaseAddress = { sqlite: string } | { postgres: string; schema: string };

export interface TestDatabase {
  address: DatabaseAddress;
  /** A further connection; its user closes it. */
  connect(): Kysely<UsageTables>;
  remove(): Promise<void>;
}

const POSTGRES_URL =
  process.env.TEST_DATABASE_URL ?? `postgres://${userInfo().username}@127.0.0.1:5432/postgres`;

export function connect(address: DatabaseAddress): Kysely<UsageTables> {
  if ('sqlite' in address) {
    const database = new Database(address.sqlite, { timeout: 5000 });
    return new Kysely({ dialect: new SqliteDialect({ database: database as never }) });
  }
  const pool = new pg.Pool({
    connectionString: address.postgres,
    options: `-c search_path=${address.schema}`,
    connectionTimeoutMillis: 2000,
    max: 4,
  });
  pool.on('error', () => {});
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}

async function migrated(address: DatabaseAddress, remove: () => Promise<void>): Promise<TestDatabase> {
  const db = connect(address);
  await usageMigration.up(db);
  await db.destroy();
  return { address, connect: () => connect(address), remove };
}

async function openSqlite(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'usage-'));
  return migrated({ sqlite: join(folder, 'test.db') }, () => rm(folder, { recursive: true }));
}

async function openPostgres(): Promise<TestDatabase | undefined> {
  const schema = `usage_${randomBytes(6).toString('hex')}`;
  const run = async (statement: string) => {
    const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 2000 });
    await client.connect();
    await client.query(statement).finally(() => client.end());
  };
  try {
    await run(`create schema ${schema}`);
  } catch {
    return undefined;
  }
  return migrated({ postgres: POSTGRES_URL, schema }, () => run(`drop schema ${schema} cascade`));
}

/** Each kind of database, to run one suite on; `open` gives a fresh one, or undefined where there is no server. */
export const databases = [
  { name: 'SQLite', open: openSqlite },
  { name: 'PostgreSQL', open: openPostgres },
] as const;
