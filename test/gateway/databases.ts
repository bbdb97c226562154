import { randomBytes } from 'node:crypto';
import { rmSync, statfsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Database, DatabaseKind, OpenOptions } from '../../gateway/database/database.js';
import { openDatabase } from '../../gateway/database/open-database.js';
import { createKeyStore, type KeyStore } from '../../gateway/keys/store.js';
import { migrations } from '../../gateway/migrations.js';
import { skipWithout, until } from '../needs.js';

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
  /** Closes what was opened and makes it an empty database of a gateway again. */
  clear(): Promise<void>;
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

/** In memory where there is much of it: on a disk each commit waits for it, which no test is about. */
export const fastTmpdir = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir();

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > 2 ** 30;
  } catch {
    return false;
  }
}

export async function createSqliteDatabase(options?: Partial<OpenOptions>): Promise<TestDatabase> {
  const folder = await mkdtemp(join(fastTmpdir, 'helper-gateway-keys-'));
  const location = join(folder, 'data');
  return testDatabase('sqlite', location, {
    async clear() {
      await rm(location, { recursive: true, force: true });
      await cp(await migratedFolder(), location, { recursive: true });
    },
    drop: () => rm(folder, { recursive: true }),
    options,
  });
}

let migrated: Promise<string> | undefined;

/** The data folder of an empty database that is up to date; made once in a process. */
function migratedFolder(): Promise<string> {
  migrated ??= (async () => {
    const folder = await mkdtemp(join(fastTmpdir, 'helper-gateway-migrated-'));
    process.once('exit', () => rmSync(folder, { recursive: true }));
    await (await connect({ kind: 'sqlite', location: folder })).close();
    return folder;
  })();
  return migrated;
}

/** A schema of its own in the test database. */
export async function createPostgresDatabase(): Promise<TestDatabase> {
  const schema = `helper_gateway_${randomBytes(6).toString('hex')}`;
  await onPostgres(`create schema ${schema}`);
  const url = new URL(postgresUrl);
  // No test is about what the disk keeps of the last moment before the server's power is cut.
  url.searchParams.set('options', `-c search_path=${schema} -c synchronous_commit=off`);
  return testDatabase('postgres', url.href, {
    async clear() {
      // Only what holds something: emptying a table makes its files anew. Its own trigger lets nobody empty the audit log.
      await patiently(`do $$
        declare name text; filled text; found boolean;
        begin
          for name in select format('%I.%I', schemaname, tablename) from pg_tables
            where schemaname in ('${schema}', '${schema}_jobs') and tablename not like '%migration%'
          loop
            execute 'select exists (select from ' || name || ')' into found;
            if found then filled := concat_ws(', ', filled, name); end if;
          end loop;
          if filled is null then return; end if;
          alter table if exists ${schema}.audit disable trigger user;
          execute 'truncate ' || filled || ' restart identity cascade';
          alter table if exists ${schema}.audit enable trigger user;
        end $$`);
    },
    // Beside it lies that of the queue of jobs, where somebody has opened one.
    drop: () => patiently(`drop schema ${schema} cascade; drop schema if exists ${schema}_jobs cascade`),
  });
}

/** The schema of a PostgreSQL database that a test made. */
export function schemaOf(location: string): string {
  return /search_path=(\w+)/.exec(new URL(location).searchParams.get('options') ?? '')?.[1] ?? '';
}

/**
 * Runs the same tests on SQLite and, where one answers, on PostgreSQL; `database` is an empty one in each test. With `ownThread` also
 * on a SQLite that has a thread of its own, as in a gateway. With `fresh` it is made anew for each test and not yet migrated.
 */
export function onEachDatabase(
  tests: (database: () => TestDatabase) => void,
  { ownThread = false, fresh = false } = {},
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
      (fresh ? beforeEach : before)(async () => {
        database = await create();
        if (!fresh) await (await database.connect()).close();
      });
      tests(() => database);
      // Said last, so that it comes last: what the tests opened on it is closed by then.
      afterEach(() => (fresh ? database.drop() : database.clear()));
      after(() => (fresh ? undefined : database?.drop()));
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

/** For what takes every table of a schema at once. */
function patiently(statement: string): Promise<true> {
  return until(() => onPostgres(statement).then(() => true, goneOn));
}

/** What a process was doing here when it was killed may still go on: PostgreSQL ends one of two that wait for each other. */
function goneOn(error: { code?: string }): false {
  if (error.code !== '40P01') throw error;
  return false;
}

interface EmptiedDatabase {
  clear(): Promise<unknown>;
  drop(): Promise<unknown>;
  options?: Partial<OpenOptions> | undefined;
}

function testDatabase(
  kind: DatabaseKind,
  location: string,
  { clear, drop, options }: EmptiedDatabase,
): TestDatabase {
  const opened: { close(): Promise<void> }[] = [];
  function keep<T extends { close(): Promise<void> }>(one: T): T {
    opened.push(one);
    return one;
  }
  async function close(): Promise<void> {
    for (const one of opened.splice(0)) await one.close().catch(() => {});
  }
  return {
    kind,
    location,
    connect: async () => keep(await connect({ kind, location }, options)),
    open: async () => keep(await openStore({ kind, location }, options)),
    async clear() {
      await close();
      await clear();
    },
    async drop() {
      await close();
      await drop();
    },
  };
}
