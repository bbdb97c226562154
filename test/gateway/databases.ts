import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';

import type { DatabaseKind } from '../../gateway/database/access.js';
import type { Database, OpenOptions } from '../../gateway/database/database.js';
import { openDatabase } from '../../gateway/database/open-database.js';
import { createKeyStore } from '../../gateway/keys/sql-store.js';
import type { KeyStore } from '../../gateway/keys/store.js';
import { migrations } from '../../gateway/migrations.js';
import { skipWithout } from '../needs.js';
import { until } from '../until.js';

/** Says how to reach a test database; also from another process, as JSON. */
export interface DatabaseAddress {
  kind: DatabaseKind;
  /** A data folder, or a PostgreSQL URL. */
  location: string;
}

/** An empty database of one kind, for one test. */
export interface TestDatabase extends DatabaseAddress {
  /** One more process's view of it, made where it is missing; closed by `drop` at the latest. */
  connect(): Promise<Database>;
  /** The key store in one more process's view of it. */
  open(): Promise<OpenedStore>;
  drop(): Promise<void>;
}

/** A key store with a database connection of its own. */
export interface OpenedStore extends KeyStore {
  close(): Promise<void>;
}

// The user as psql would choose it; pg looks at USER alone.
const user = process.env.PGUSER ?? userInfo().username;
export const postgresUrl = process.env.TEST_DATABASE_URL ?? `postgres://${user}@127.0.0.1:5432/test`;

/** Opens a database as a gateway does, and makes it where it is missing. */
export function connect(
  { kind, location }: DatabaseAddress,
  options: Partial<OpenOptions> = {},
): Promise<Database> {
  const where = kind === 'sqlite' ? { dataDir: location } : { dataDir: '', databaseUrl: location };
  return openDatabase(where, { migrations, create: true, ...options });
}

export async function openStore(
  address: DatabaseAddress,
  options?: Partial<OpenOptions>,
): Promise<OpenedStore> {
  const database = await connect(address, options);
  return { ...createKeyStore(database.access()), close: () => database.close() };
}

export async function createSqliteDatabase(options?: Partial<OpenOptions>): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'helper-gateway-keys-'));
  return testDatabase('sqlite', join(folder, 'data'), () => rm(folder, { recursive: true }), options);
}

/** A schema of its own in the test database. */
export async function createPostgresDatabase(): Promise<TestDatabase> {
  const schema = `helper_gateway_${randomBytes(6).toString('hex')}`;
  await onPostgres(`create schema ${schema}`);
  const url = new URL(postgresUrl);
  url.searchParams.set('options', `-c search_path=${schema}`);
  // Beside it lies that of the queue of jobs, where somebody has opened one.
  const drop = `drop schema ${schema} cascade; drop schema if exists ${schema}_jobs cascade`;
  return testDatabase('postgres', url.href, () => until(() => onPostgres(drop).then(() => true, goneOn)));
}

/**
 * Runs the same tests on SQLite and, where one answers, on PostgreSQL; `database` is a new one in each test. With `ownThread` also
 * on a SQLite that has a thread of its own, as in a gateway.
 */
export function onEachDatabase(
  tests: (database: () => TestDatabase) => void,
  { ownThread = false } = {},
): void {
  const onThread = () => createSqliteDatabase({ ownThread: true });
  for (const [name, create] of [
    ['SQLite', () => createSqliteDatabase()],
    ...(ownThread ? [['SQLite on a thread of its own', onThread] as const] : []),
    ['PostgreSQL', createPostgresDatabase],
  ] as const) {
    describe(`on ${name}`, () => {
      let database: TestDatabase;
      if (name === 'PostgreSQL') before(requirePostgres);
      beforeEach(async () => {
        database = await create();
      });
      tests(() => database);
      // Said last, so that it comes last: what the tests opened on it is closed by then.
      afterEach(() => database.drop());
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
  const client = new pg.Client({ connectionString: postgresUrl, connectionTimeoutMillis: 20_000 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** What a process was doing here when it was killed may still go on: PostgreSQL ends one of two that wait for each other. */
function goneOn(error: { code?: string }): false {
  if (error.code !== '40P01') throw error;
  return false;
}

function testDatabase(
  kind: DatabaseKind,
  location: string,
  drop: () => Promise<unknown>,
  options?: Partial<OpenOptions>,
): TestDatabase {
  const opened: { close(): Promise<void> }[] = [];
  function keep<T extends { close(): Promise<void> }>(one: T): T {
    opened.push(one);
    return one;
  }
  return {
    kind,
    location,
    connect: async () => keep(await connect({ kind, location }, options)),
    open: async () => keep(await openStore({ kind, location }, options)),
    async drop() {
      for (const one of opened) await one.close().catch(() => {});
      await drop();
    },
  };
}
