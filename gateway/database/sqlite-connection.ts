import type { QueryResult } from 'kysely';
import Libsql from 'libsql';

interface SqliteQuery {
  sql: string;
  parameters: readonly unknown[];
  /** Whether it only reads, and so needs no writer's lock. */
  reads: boolean;
}

/** The one connection of a process to a SQLite file; what is asked is done in turn. */
export interface SqliteConnection {
  /** Runs statements without parameters or results. */
  exec(sql: string): Promise<void>;
  /** Runs a statement; one that is in no transaction as one of its own. */
  query(query: SqliteQuery): Promise<QueryResult<unknown>>;
  /** Ends the transaction, where there is one. */
  rollback(): Promise<void>;
  close(): Promise<void>;
}

/** `immediate`: what reads first and then writes could otherwise meet another's lock half-way, where waiting does not help. */
export const beginWriting = 'begin immediate';
/** `begin` alone takes no lock; its first read does. */
const beginReading = 'begin; select 1 from sqlite_schema limit 1';

/** SQLite's own waiting blocks its thread, so it is short, and its user goes on waiting without blocking. */
const busyTimeoutMs = 20;
const settings = [
  'pragma journal_mode = persist',
  // What a large transaction leaves of the journal.
  'pragma journal_size_limit = 1048576',
  // A commit is durable before it is acknowledged.
  'pragma synchronous = full',
  'pragma foreign_keys = on',
].join('; ');

/**
 * Opens a file on this thread. Locks are acquired through `exec`, before any prepared statement: one that fails with SQLITE_BUSY stays
 * in progress in libsql 0.5.29 until it is garbage-collected (tursodatabase/libsql-js#238). Until then every commit of the connection
 * fails, and its next read keeps the database locked for all other writers.
 *
 * With a rollback journal: WAL with two writing processes can corrupt the file in the SQLite that libsql brings (3.45).
 */
export function openConnection(file: string): SqliteConnection {
  const opened = openFile(file);
  let closed = false;

  /** libsql ends the whole process where a closed database is asked for its transaction. */
  function use(): Libsql.Database {
    if (closed) throw new Error('The database connection is not open');
    return opened;
  }

  function rollback(): void {
    // A full disk makes SQLite roll back by itself, and a second rollback would hide the reason.
    if (!closed && opened.inTransaction) opened.exec('rollback');
  }

  function run({ sql, parameters }: SqliteQuery): QueryResult<unknown> {
    const statement = use().prepare(sql);
    if (statement.reader) return { rows: statement.all(parameters) };
    const { changes, lastInsertRowid } = statement.run(parameters);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  return {
    exec: async (sql) => void use().exec(sql),
    async query(query) {
      const database = use();
      if (database.inTransaction) return run(query);
      try {
        database.exec(query.reads ? beginReading : beginWriting);
        const result = run(query);
        database.exec('commit');
        return result;
      } catch (error) {
        rollback();
        throw error;
      }
    },
    rollback: async () => rollback(),
    async close() {
      if (closed) return;
      closed = true;
      opened.close();
    },
  };
}

function openFile(file: string): Libsql.Database {
  const opened = new Libsql(file);
  try {
    opened.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    opened.exec(settings);
    return opened;
  } catch (error) {
    opened.close();
    throw error;
  }
}
