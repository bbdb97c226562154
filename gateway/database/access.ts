import type { Kysely, Transaction } from 'kysely';
import { commitTogether } from './commit-together.js';
import { classifyFault } from './database-error.js';
import { retryConflicts } from './retry.js';

export type DatabaseKind = 'sqlite' | 'postgres';

/** A room's tables by name. To be declared as a `type`: an `interface` does not fit. */
export type TableSet = Record<string, object>;

/** For what works on others' tables alone: these name their own by `trx.withTables`. */
export type NoTables = Record<never, object>;

/**
 * Every room's way to its tables. Where another process holds a lock the work is run again, from its start, without blocking the
 * event loop; where the database does not answer, both reject with a `DatabaseError`, whose cause says why.
 */
export interface Access<Tables extends TableSet> {
  readonly kind: DatabaseKind;
  /** Runs one statement, or several that need no common moment. */
  run<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** Runs `work` as one transaction. It may run more than once, so it must do nothing but use `trx`. */
  change<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T>;
}

/** Access through a handle, which each room that uses the database gets with its own tables. */
export function createAccess(
  db: Kysely<NoTables>,
  kind: DatabaseKind,
): <Tables extends TableSet>() => Access<Tables> {
  async function settle<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw classifyFault(error);
    }
  }

  const commit =
    kind === 'sqlite'
      ? commitTogether(db)
      : (work: (trx: Transaction<NoTables>) => Promise<unknown>) =>
          retryConflicts(() => db.transaction().execute(work));

  return <Tables extends TableSet>(): Access<Tables> => {
    const own = db.withTables<Tables>();
    return {
      kind,
      run: (work) => settle(() => retryConflicts(() => work(own))),
      change: <T>(work: (trx: Transaction<Tables>) => Promise<T>) =>
        settle(() => commit((trx) => work(trx.withTables<Tables>())) as Promise<T>),
    };
  };
}
