import {
  type CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  SelectQueryNode,
  SqliteDialect,
  SqliteDriver,
} from 'kysely';
import type Database from 'libsql';

/**
 * Kysely's SQLite dialect over libsql, with locks taken as several processes need them: through `exec`, before any prepared
 * statement. A prepared statement that fails with SQLITE_BUSY stays in progress in libsql 0.5.29 until it is
 * garbage-collected (tursodatabase/libsql-js#238): until then every commit of the connection fails, and its next read
 * keeps the database locked for the writers of all other processes.
 */
export class LibsqlDialect extends SqliteDialect {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    super({ database });
    this.#database = database;
  }

  override createDriver(): SqliteDriver {
    return new LibsqlDriver(this.#database);
  }
}

/** `immediate`: what reads first and then writes could otherwise meet another's lock half-way, where waiting does not help. */
export const beginWriting = 'begin immediate';
/** `begin` alone takes no lock; its first read does. */
const beginReading = 'begin; select 1 from sqlite_schema limit 1';

class LibsqlDriver extends SqliteDriver {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    super({ database });
    this.#database = database;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return new LockingConnection(await super.acquireConnection(), this.#database);
  }

  override async beginTransaction(_connection: DatabaseConnection): Promise<void> {
    this.#database.exec(beginWriting);
  }

  override async commitTransaction(_connection: DatabaseConnection): Promise<void> {
    this.#database.exec('commit');
  }

  override async rollbackTransaction(_connection: DatabaseConnection): Promise<void> {
    rollback(this.#database);
  }
}

/** Runs a statement that is in no transaction as one of its own, so that it has its lock before it is prepared. */
class LockingConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection;
  readonly #database: Database.Database;

  constructor(connection: DatabaseConnection, database: Database.Database) {
    this.#connection = connection;
    this.#database = database;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#database.inTransaction) return this.#connection.executeQuery<R>(query);
    try {
      this.#database.exec(SelectQueryNode.is(query.query) ? beginReading : beginWriting);
      const result = await this.#connection.executeQuery<R>(query);
      this.#database.exec('commit');
      return result;
    } catch (error) {
      rollback(this.#database);
      throw error;
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize?: number): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>(query, chunkSize);
  }
}

/** Ends a transaction that failed. */
export function rollback(database: Database.Database): void {
  // A full disk makes SQLite roll back by itself, and a second rollback would hide the reason.
  if (database.inTransaction) database.exec('rollback');
}
