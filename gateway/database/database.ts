import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, type Migration, Migrator, type Transaction } from 'kysely';
import { createBatcher } from './batcher.js';
import { database, isConflict, withStore } from './store-error.js';

/** The one database of a gateway: keys, usage, quotas, the site's accounts. */
export type Database = ReturnType<typeof createDatabase>;

export interface OpenOptions {
  /** Every part's tables by name, in the order in which they came. */
  migrations: (kind: DatabaseKind) => Record<string, Migration>;
  /** Whether to make a database where there is none; by default that is an error, `not_found`. */
  create?: boolean;
  /** Whether SQLite has a thread of its own, as in a process that serves: for the few statements of a command it costs too much. */
  ownThread?: boolean;
  /** Gets the reason when an idle connection is lost; it is replaced by itself. */
  onConnectionLost?: (error: Error) => void;
}

export function createDatabase(handle: Kysely<unknown>, kind: DatabaseKind) {
  return {
    kind,
    /** A module's access to its own tables. */
    access: createAccess(handle.withTables<NoTables>(), kind),
    close: () => handle.destroy(),
  };
}

export type DatabaseKind = 'sqlite' | 'postgres';

/** A module's tables by name. To be declared as a `type`: an `interface` does not fit. */
type TableSet = Record<string, object>;

/** For what works on others' tables alone: these name their own by `trx.withTables`. */
export type NoTables = Record<never, object>;

/** Access to a module's tables: retries work that meets another's lock, and rejects with a `StoreError`. */
export interface Access<Tables extends TableSet> {
  readonly kind: DatabaseKind;
  /** Runs one statement, or several that need no common moment. */
  run<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** Runs `work` as one transaction. It may run more than once, so it must do nothing but use `trx`. */
  change<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T>;
}

/** Access through a handle, which each module gets with its own tables. */
export function createAccess(db: Kysely<NoTables>, kind: DatabaseKind) {
  const commit =
    kind === 'sqlite'
      ? commitTogether(db)
      : (work: Change) => retryConflicts(() => db.transaction().execute(work));

  return <Tables extends TableSet = NoTables>(): Access<Tables> => {
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

type Change = (trx: Transaction<NoTables>) => Promise<unknown>;

/** Group commit for SQLite, which has one transaction at a time, and each waits for the disk when it commits. */
function commitTogether(db: Kysely<NoTables>) {
  return createBatcher<Change, unknown>(
    (changes, addNext) =>
      retryConflicts(() =>
        db.transaction().execute(async (trx) => {
          const began = performance.now();
          const results: unknown[] = [];
          // A try after a conflict has those again that were added before; `addNext` makes `changes` longer.
          for (let done = 0; done < changes.length; done += 1) {
            results.push(await (changes[done] as Change)(trx));
            if (done + 1 === changes.length && performance.now() - began <= longTransactionMs) addNext();
          }
          return results;
        }),
      ),
    isConflict,
  );
}

/** How long to go on after conflicts. SQLite has one writer at a time; PostgreSQL waits by itself before it reports one. */
const retryForMs = 10_000;

/** The last retry that waits, in this process. */
let lastRetry: Promise<unknown> = Promise.resolve();

/** Runs `work` again, from its start, while it meets another's lock, for 10 s at most; throws any other error, and the last one. */
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

/** One after the other, at random: each try at SQLite blocks this process, and two that met must not meet again. */
function waitForRetry(deadline: number): Promise<unknown> {
  lastRetry = lastRetry.then(async () => {
    if (performance.now() > deadline) return;
    await sleep(2 + Math.random() * 20);
    // Behind what has arrived meanwhile: due timers alone would run before it.
    await setImmediate();
  });
  return lastRetry;
}

/** The table that says which migrations have been run: a database that has it is a gateway's. */
export const migrationTable = 'gateway_migration';

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
  if (!error) return;
  // What the migrator finds corrupt is as a rule an older program on a database that a newer one has changed.
  const [, name] = /previously executed migration (\S+) is missing/.exec(String(error)) ?? [];
  const newer = `a newer version has changed its tables (${name}); run that version, or restore a back-up from before`;
  const cause = name === undefined ? error : new Error(newer);
  throw new Error('The database could not be brought to this version.', { cause });
}
