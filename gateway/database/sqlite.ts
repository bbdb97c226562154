import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Kysely, type Migration } from 'kysely';
import { GatewayError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { createDatabase, type Database, type OpenOptions } from './database.js';
import { reasonOf } from './database-error.js';
import { migrate } from './migrate.js';
import { retryConflicts } from './retry.js';
import { beginWriting, openConnection, type SqliteConnection } from './sqlite-connection.js';
import { SqliteConnectionDialect } from './sqlite-dialect.js';
import { connectThread } from './thread-connection.js';

/**
 * Opens `gateway.db` in `dataDir` and brings the tables up to date. Where they are missing, `create` makes both, for the owner's
 * eyes only. Several processes may have it open at once.
 */
export async function openSqlite(
  dataDir: string,
  { migrations, create = false, ownThread = false, onConnectionLost }: OpenOptions,
): Promise<Database> {
  const file = join(dataDir, 'gateway.db');
  let connection: SqliteConnection | undefined;
  try {
    if (!create && !hasContent(file)) throw noDatabase(resolve(file));
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

/** Whether there is a database; an empty file is none yet. Throws where nobody may look, as another user's folder is not an empty one. */
function hasContent(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Made in silence, a database in the wrong folder would look like one from which everything has gone. */
function noDatabase(file: string): GatewayError {
  return new GatewayError('not_found', {
    message: `There is no gateway database at ${file}. Run the gateway once, or set HELPER_DATA_DIR to the folder that has one.`,
  });
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

async function prepare(
  connection: SqliteConnection,
  migrations: Record<string, Migration>,
): Promise<Kysely<unknown>> {
  const db = new Kysely<unknown>({ dialect: new SqliteConnectionDialect(connection) });
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
