import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type Migration,
  type QueryResult,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { GatewayError } from '../errors.js';
import { makeFolder } from '../file-system.js';
import { createDatabase, type Database, migrate, type OpenOptions, retryConflicts } from './database.js';
import { beginWriting, openConnection, type SqliteConnection } from './sqlite-connection.js';
import { codeOf, reasonOf } from './store-error.js';

/** Opens `gateway.db` and brings its tables up to date; `create` makes a missing one, readable by its owner alone. */
export async function openSqlite(
  dataDir: string,
  { migrations, create = false, ownThread = false, onConnectionLost }: OpenOptions,
): Promise<Database> {
  const file = join(dataDir, 'gateway.db');
  let connection: SqliteConnection | undefined;
  try {
    // An empty file is no database yet; a folder that may not be looked into throws.
    const hasContent = (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
    if (!create && !hasContent) throw noDatabase(resolve(file));
    await makeFolder(dataDir, { mode: 0o700 });
    createFile(file);
    // SQLite's own words for this are a number.
    accessSync(file, constants.R_OK | constants.W_OK);
    const opened = ownThread
      ? connectThread(file, onConnectionLost)
      : await retryConflicts(async () => openConnection(file));
    connection = opened;
    const handle = await retryConflicts(() => prepare(opened, migrations('sqlite')));
    return createDatabase(handle, 'sqlite');
  } catch (error) {
    await connection?.close();
    if (error instanceof GatewayError) throw error;
    throw new Error(`The database ${file} cannot be opened: ${reasonOf(error)}`, { cause: error });
  }
}

/** Made in silence, a database in the wrong folder would look like one from which everything has gone. */
function noDatabase(file: string): GatewayError {
  return new GatewayError('not_found', {
    message: `There is no gateway database at ${file}. Run the gateway once, or set HELPER_DATA_DIR to the folder that has one.`,
  });
}

/** Not by SQLite, which makes it readable for all. To open and close an existing one would drop its locks (POSIX). */
function createFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

async function prepare(
  connection: SqliteConnection,
  migrations: Record<string, Migration>,
): Promise<Kysely<unknown>> {
  const db = new Kysely<unknown>({ dialect: sqliteDialect(connection) });
  // Kysely takes no lock on SQLite; within this transaction, one start migrates and the others find it done.
  await connection.exec(beginWriting);
  try {
    await migrate(db, migrations);
    await connection.exec('commit');
  } catch (error) {
    await connection.rollback();
    throw error;
  }
  return db;
}

/** Kysely's SQLite dialect over a connection, on whichever thread that is. */
export function sqliteDialect(connection: SqliteConnection): Dialect {
  return {
    createDriver: () => createDriver(connection),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Lends the one connection to one user after the other, in order. */
function createDriver(connection: SqliteConnection): Driver {
  /** Resolves when the last of those who wait has given it back. */
  let free = Promise.resolve();
  let giveBack = () => {};
  const lent: DatabaseConnection = {
    executeQuery<R>({ sql, parameters, query }: Parameters<DatabaseConnection['executeQuery']>[0]) {
      const reads = SelectQueryNode.is(query);
      return connection.query({ sql, parameters, reads }) as Promise<QueryResult<R>>;
    },
    // A stream would hold the connection for as long as its reader needs.
    streamQuery() {
      throw new Error('SQLite is read whole.');
    },
  };
  return {
    async init() {},
    async acquireConnection() {
      const before = free;
      let done = () => {};
      free = new Promise((resolve) => {
        done = resolve;
      });
      await before;
      giveBack = done;
      return lent;
    },
    releaseConnection: async () => giveBack(),
    beginTransaction: () => connection.exec(beginWriting),
    commitTransaction: () => connection.exec('commit'),
    rollbackTransaction: () => connection.rollback(),
    destroy: () => connection.close(),
  };
}

/**
 * Opens a SQLite file on a thread of its own: on the main thread each statement, and each wait for the disk or a lock, would hold up
 * every call. A thread that fails fails the pending requests, and the next one starts another; no transaction continues on that.
 */
export function connectThread(file: string, onLost: (error: Error) => void = () => {}): SqliteConnection {
  let worker = startSqliteWorker(file, onLost);
  let inTransaction = false;
  let closed = false;

  async function ask(method: keyof SqliteConnection, argument?: unknown): Promise<unknown> {
    if (closed || (worker.ended() && inTransaction)) throw notOpen();
    if (worker.ended()) worker = startSqliteWorker(file, onLost);
    return worker.ask(method, argument);
  }

  return {
    async exec(sql) {
      await ask('exec', sql);
      if (sql === beginWriting) inTransaction = true;
      if (sql === 'commit') inTransaction = false;
    },
    query: (query) => ask('query', query) as Promise<QueryResult<unknown>>,
    async rollback() {
      inTransaction = false;
      // With its thread a transaction has gone.
      if (!closed && !worker.ended()) await ask('rollback');
    },
    async close() {
      if (closed) return;
      closed = true;
      // One that fails now is closed too.
      if (!worker.ended()) await worker.ask('close').catch(onLost);
      await worker.end();
    },
  };
}

export interface WorkerRequest {
  id: number;
  method: keyof SqliteConnection;
  argument: unknown;
}

export type WorkerResponse =
  | { id: number; result: unknown }
  | { id: number; error: Error; code: string | undefined };

/** Starts `sqlite-thread`; `onFailed` gets the reason of an end that was not asked for. */
function startSqliteWorker(file: string, onFailed: (error: Error) => void) {
  const worker = new Worker(new URL('./sqlite-thread.js', import.meta.url), { workerData: file });
  const pending = new Map<number, { resolve: (result: unknown) => void; reject: (error: unknown) => void }>();
  let requests = 0;
  let ended = false;
  let reason: Error | undefined;

  worker.on('message', (response: WorkerResponse) => {
    const request = pending.get(response.id);
    pending.delete(response.id);
    // Only pending requests keep the process alive.
    if (pending.size === 0) worker.unref();
    if (!('error' in response)) return request?.resolve(response.result);
    const { error, code } = response;
    request?.reject(code === undefined ? error : Object.assign(error, { code }));
  });
  // Without a listener it would end the process, and every call with it.
  worker.once('error', (error: Error) => {
    reason = error;
    onFailed(error);
  });
  worker.once('exit', () => {
    ended = true;
    for (const { reject } of pending.values()) reject(notOpen(reason));
    pending.clear();
  });

  return {
    ended: () => ended,
    /** Rejects also where the thread ends before it has answered. */
    ask(method: keyof SqliteConnection, argument?: unknown): Promise<unknown> {
      return new Promise((resolve, reject) => {
        if (ended) return reject(notOpen(reason));
        requests += 1;
        worker.postMessage({ id: requests, method, argument } satisfies WorkerRequest);
        pending.set(requests, { resolve, reject });
        worker.ref();
      });
    },
    end: () => worker.terminate(),
  };
}

/** The error of a connection that is closed or lost. */
function notOpen(cause?: Error): Error {
  return new Error('The database connection is not open', cause ? { cause } : {});
}
