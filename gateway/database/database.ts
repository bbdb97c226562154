import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, type Migration, Migrator, type Transaction } from 'kysely';
import { createBatcher } from './batcher.js';
import { database, isConflict, withStore } from './store-error.js';

/** The one database of a gateway: keys, usage, quotas, the site's accounts. */
export interface Database {
  readonly kind: DatabaseKind;
  /** A module's access to its own tables. */
  access<Tables extends TableSet = NoTables>(): Access<Tables>;
  /** The way around `access`, without its retries: for better-auth alone, which brings its own statements. */
  readonly handle: Kysely<unknown>;
  close(): Promise<void>;
}

/** Every part's tables by name, in the order in which they came. */
type Migrations = (kind: DatabaseKind) => Record<string, Migration>;

export interface OpenOptions {
  migrations: Migrations;
  /** Whether to make a database where there is none; by default that is an error, `not_found`. */
  create?: boolean;
  /**
   * Whether SQLite works on a thread of its own: for a process that serves. A command does without, since a thread costs it more
   * than its few statements.
   */
  ownThread?: boolean;
  /** Gets the reason when an idle connection is lost; it is replaced by itself. */
  onConnectionLost?: (error: Error) => void;
}

export function createDatabase(handle: Kysely<unknown>, kind: DatabaseKind): Database {
  return {
    kind,
    access: createAccess(handle.withTables<NoTables>(), kind),
    handle,
    close: () => handle.destroy(),
  };
}

export type DatabaseKind = 'sqlite' | 'postgres';

/** A module's tables by name. To be declared as a `type`: an `interface` does not fit. */
type TableSet = Record<string, object>;

/** For what works on others' tables alone: these name their own by `trx.withTables`. */
export type NoTables = Record<never, object>;

/**
 * A module's access to its tables. Where another process holds a lock the work is run again, from its start, without blocking the
 * event loop; where the database does not answer, both reject with a `StoreError`, whose cause says why.
 */
export interface Access<Tables extends TableSet> {
  readonly kind: DatabaseKind;
  /** Runs one statement, or several that need no common moment. */
  run<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** Runs `work` as one transaction. It may run more than once, so it must do nothing but use `trx`. */
  change<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T>;
}

/** Access through a handle, which each module gets with its own tables. */
export function createAccess(
  db: Kysely<NoTables>,
  kind: DatabaseKind,
): <Tables extends TableSet>() => Access<Tables> {
  const commit =
    kind === 'sqlite'
      ? commitTogether(db)
      : (work: (trx: Transaction<NoTables>) => Promise<unknown>) =>
          retryConflicts(() => db.transaction().execute(work));

  return <Tables extends TableSet>(): Access<Tables> => {
    const own = db.withTables<Tables>();
    return {
      kind,
      run: (work) => withStore(database, () => retryConflicts(() => work(own))),
      change: <T>(work: (trx: Transaction<Tables>) => Promise<T>) =>
        withStore(database, () => commit((trx) => work(trx.withTables<Tables>())) as Promise<T>),
    };
  };
}

/** No change is added to a transaction that has lasted as long: other processes wait for it. In milliseconds. */
const longTransactionMs = 10;

/** Group commit for SQLite, which has one transaction at a time, of which each waits for the disk when it commits. */
function commitTogether<Tables>(db: Kysely<Tables>) {
  type Change = (trx: Transaction<Tables>) => Promise<unknown>;
  return createBatcher<Change, unknown>(
    (changes, addNext) =>
      retryConflicts(() =>
        db.transaction().execute(async (trx) => {
          const began = performance.now();
          const results: unknown[] = [];
          for (const change of [...changes]) results.push(await change(trx));
          while (performance.now() - began <= longTransactionMs) {
            const next = addNext();
            if (!next) break;
            results.push(await next(trx));
          }
          return results;
        }),
      ),
    isConflict,
  );
}

/** How long to go on after conflicts. SQLite has one writer at a time; PostgreSQL waits by itself before it reports one. */
const retryForMs = 10_000;

/** The last of those who wait for another try, in this process. */
let lastRetry: Promise<unknown> = Promise.resolve();

/**
 * Runs `work` again, from its start, while it meets another's lock, for 10 s at most; what it throws then, or
 * otherwise, is thrown on. The waits are short and not the same, so that two who met do not meet again.
 */
export async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + retryForMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error)) throw error;
      await waitForRetry(deadline);
      if (performance.now() > deadline) throw error;
    }
  }
}

/**
 * One after the other: each try at SQLite blocks this process for a moment, and many in a row would leave it no time for anything
 * else. Past its deadline none waits.
 */
function waitForRetry(deadline: number): Promise<unknown> {
  lastRetry = lastRetry.then(async () => {
    if (performance.now() > deadline) return;
    await sleep(2 + Math.random() * 20);
    // Behind what has arrived meanwhile: timers alone are run before it for as long as any is due.
    await setImmediate();
  });
  return lastRetry;
}

/** The table that says which migrations have been run: a database that has it is a gateway's. */
export const migrationTable = 'gateway_migration';

/** What a failed migration ends the start with. */
class MigrationError extends Error {
  constructor(cause: unknown) {
    super('The database could not be brought to this version.', { cause });
    this.name = 'MigrationError';
  }
}

/** Brings the tables up to date; does nothing where they are. `schema` is the one that PostgreSQL creates tables in. */
export async function migrate(
  db: Kysely<unknown>,
  migrations: Record<string, Migration>,
  schema?: string,
): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: migrationTable,
    migrationLockTableName: 'gateway_migration_lock',
    ...(schema !== undefined && { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw new MigrationError(newerVersion(error) ?? error);
}

/** What the migrator finds corrupt is as a rule a program that was put back after its database had been brought on. */
function newerVersion(error: unknown): Error | undefined {
  const [, name] = /previously executed migration (\S+) is missing/.exec(String(error)) ?? [];
  if (name === undefined) return undefined;
  const message = `a newer version has changed its tables (${name}); run that version, or restore a back-up from before`;
  return new Error(message);
}
