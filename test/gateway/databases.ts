import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statfsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { DatabaseKind, OpenOptions } from '../../gateway/database/database.js';
import { openDatabase } from '../../gateway/database/open-database.js';
import { createKeyStore } from '../../gateway/keys/store.js';
import { migrations } from '../../gateway/migrations.js';
import { skipWithout, until } from '../needs.js';

/** How to reach a test database, by a data folder or a PostgreSQL URL; also from another process, as JSON. */
export type DatabaseAddress = { kind: DatabaseKind; location: string };

/** An empty database of one kind, for one test. */
export type TestDatabase = ReturnType<typeof testDatabase>;

/** A key store with a database connection of its own. */
export type OpenedStore = Awaited<ReturnType<typeof openStore>>;

// The user as psql would choose it; pg looks at USER alone.
const user = process.env.PGUSER ?? userInfo().username;
export const postgresUrl = process.env.TEST_DATABASE_URL ?? `postgres://${user}@127.0.0.1:5432/test`;

/** Opens a database as a gateway does, and makes it where it is missing. */
export function connect({ kind, location }: DatabaseAddress, options: Partial<OpenOptions> = {}) {
  const where = kind === 'sqlite' ? { dataDir: location } : { dataDir: '', databaseUrl: location };
  return openDatabase(where, { migrations, create: true, ...options });
}

export async function openStore(address: DatabaseAddress, options?: Partial<OpenOptions>) {
  const database = await connect(address, options);
  return { ...createKeyStore(database.access()), close: () => database.close() };
}

/** In memory where there is much of it: on a disk each commit waits for it, which no test is about. */
const fastTmpdir = roomIn('/dev/shm') > 2 ** 30 ? '/dev/shm' : tmpdir();

function roomIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
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
      await retryDeadlocks(`do $$
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
    drop: () => retryDeadlocks(`drop schema ${schema} cascade; drop schema if exists ${schema}_jobs cascade`),
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
function postgresFault(): Promise<string | undefined> {
  probed ??= onPostgres('select 1').then(undefined, (error) => String(error.code ?? error.message));
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

/**
 * For what locks every table of a schema: a statement of a process that was killed may still run, and PostgreSQL ends one of two that
 * wait for each other.
 */
function retryDeadlocks(statement: string): Promise<true> {
  const isDeadlock = ({ code }: { code?: string }) => code === '40P01';
  return until(() =>
    onPostgres(statement).then(
      () => true,
      (error) => !isDeadlock(error) && Promise.reject(error),
    ),
  );
}

interface Owner {
  clear(): Promise<unknown>;
  drop(): Promise<unknown>;
  options?: Partial<OpenOptions> | undefined;
}

function testDatabase(kind: DatabaseKind, location: string, { clear, drop, options }: Owner) {
  const opened: { close(): Promise<void> }[] = [];
  function owned<T extends { close(): Promise<void> }>(one: T): T {
    opened.push(one);
    return one;
  }
  async function close(): Promise<void> {
    for (const one of opened.splice(0)) await one.close().catch(() => {});
  }
  return {
    kind,
    location,
    /** One more process's view of it, made where it is missing; closed by `drop` at the latest. */
    connect: async (more: Partial<OpenOptions> = {}) =>
      owned(await connect({ kind, location }, { ...options, ...more })),
    /** The key store in one more process's view of it. */
    open: async () => owned(await openStore({ kind, location }, options)),
    /** Closes what was opened and makes it an empty database of a gateway again. */
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
