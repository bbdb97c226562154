import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';

import { type DatabaseOptions, openDatabase } from '../../gateway/database/database.js';
import { createKeyStore } from '../../gateway/keys/sql-store.js';
import type { KeyStore } from '../../gateway/keys/store.js';
import { skipWithout } from '../needs.js';

/** An empty database of one kind, for one test. */
export interface TestDatabase {
  kind: KeyStore['kind'];
  /** A data folder, or a PostgreSQL URL. */
  location: string;
  /** One more process's view of it; closed by `drop` at the latest. */
  open(): Promise<KeyStore>;
  drop(): Promise<void>;
}

// The user as psql would choose it; pg looks at USER alone.
const USER = process.env.PGUSER ?? userInfo().username;
export const POSTGRES_URL = process.env.TEST_DATABASE_URL ?? `postgres://${USER}@127.0.0.1:5432/test`;

/** A key store with a database connection of its own, which it closes. */
export async function openStore(
  kind: KeyStore['kind'],
  location: string,
  options: DatabaseOptions = {},
): Promise<KeyStore> {
  const where = kind === 'sqlite' ? { dataDir: location } : { dataDir: '', databaseUrl: location };
  const database = await openDatabase(where, options);
  const store = createKeyStore(database);
  return {
    ...store,
    async close() {
      await store.close();
      await database.close();
    },
  };
}

export async function createSqliteDatabase(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'helper-gateway-keys-'));
  return testDatabase('sqlite', join(folder, 'data'), () => rm(folder, { recursive: true }));
}

/** A schema of its own in the test database. */
export async function createPostgresDatabase(): Promise<TestDatabase> {
  const schema = `helper_gateway_${randomBytes(6).toString('hex')}`;
  await onPostgres(`create schema ${schema}`);
  const url = new URL(POSTGRES_URL);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return testDatabase('postgres', url.href, () => onPostgres(`drop schema ${schema} cascade`));
}

/** Runs the same tests on SQLite and, where one answers, on PostgreSQL; `database` is a new one in each test. */
export function onEachDatabase(tests: (database: () => TestDatabase) => void): void {
  for (const [name, create] of [
    ['SQLite', createSqliteDatabase],
    ['PostgreSQL', createPostgresDatabase],
  ] as const) {
    describe(`on ${name}`, () => {
      let database: TestDatabase;
      if (name === 'PostgreSQL') before(requirePostgres);
      beforeEach(async () => {
        database = await create();
      });
      afterEach(() => database.drop());
      tests(() => database);
    });
  }
}

/** A mocha hook: skips what follows where no PostgreSQL answers, or fails it with CI_REQUIRE_ALL=1. */
export async function requirePostgres(this: Mocha.Context): Promise<void> {
  const fault = await postgresFault();
  if (fault !== undefined)
    skipWithout(this, `PostgreSQL (TEST_DATABASE_URL), which does not answer: ${fault}`);
}

let probed: Promise<string | undefined> | undefined;

/** Why PostgreSQL cannot be used; undefined where it can. */
export function postgresFault(): Promise<string | undefined> {
  probed ??= onPostgres('select 1').then(
    () => undefined,
    (error) => String(error.code ?? error.message),
  );
  return probed;
}

export async function onPostgres(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 2_000 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function testDatabase(kind: KeyStore['kind'], location: string, drop: () => Promise<void>): TestDatabase {
  const opened: KeyStore[] = [];
  return {
    kind,
    location,
    async open() {
      const store = await openStore(kind, location);
      opened.push(store);
      return store;
    },
    async drop() {
      for (const store of opened) await store.close().catch(() => {});
      await drop();
    },
  };
}
