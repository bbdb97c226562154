import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';

import { Kysely } from 'kysely';
import Libsql from 'libsql';
import type { Database } from './database.js';
import { reasonOf } from './database-error.js';
import { migrate } from './migrations.js';
import { patiently } from './patiently.js';
import { LibsqlDialect } from './sqlite-dialect.js';

/** SQLite's own waiting blocks the event loop, so it is short, and whoever uses the database waits on without blocking. */
const BUSY_TIMEOUT_MS = 20;

/**
 * Opens `gateway.db` in `dataDir`, makes both where they are missing (for the owner's eyes only) and brings the tables up
 * to date. Several processes may have it open at once.
 *
 * With a rollback journal and not WAL: in the SQLite that libsql brings (3.45), WAL with two writing processes can corrupt
 * the file. `synchronous=full` makes a commit durable before it is acknowledged.
 */
export async function openSqlite(dataDir: string): Promise<Database> {
  const file = join(dataDir, 'gateway.db');
  let database: Libsql.Database | undefined;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    createFile(file);
    const opened = new Libsql(file);
    database = opened;
    const db = await patiently(() => prepare(opened));
    return { kind: 'sqlite', db, close: () => db.destroy() };
  } catch (error) {
    database?.close();
    throw new Error(`The database ${file} cannot be opened: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Makes the file where it is missing, so that SQLite does not make it readable for all. One that is there is not opened: closing
 * it would drop the locks that this process holds on it through another connection (a rule of POSIX).
 */
function createFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

async function prepare(database: Libsql.Database): Promise<Kysely<unknown>> {
  database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  database.exec('pragma journal_mode = delete; pragma synchronous = full; pragma foreign_keys = on');
  const db = new Kysely<unknown>({ dialect: new LibsqlDialect(database) });
  // Kysely takes no lock on SQLite; within this transaction, one start migrates and the others find it done.
  database.exec('begin immediate');
  try {
    await migrate(db, 'sqlite');
    database.exec('commit');
  } catch (error) {
    if (database.inTransaction) database.exec('rollback');
    throw error;
  }
  return db;
}
