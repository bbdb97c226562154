import { type DatabaseConnection, SqliteDialect, SqliteDriver } from 'kysely';
import type Database from 'libsql';

/**
 * Kysely's SQLite dialect over libsql, with transactions as several processes need them.
 *
 * `begin immediate`: a transaction that reads first and then writes could otherwise meet another's lock half-way, where
 * waiting does not help. And through `exec`: a prepared statement that fails with SQLITE_BUSY stays in progress
 * in libsql 0.5.29 until it is garbage-collected, and until then every commit of the connection fails and leaves the
 * database locked (tursodatabase/libsql-js#238).
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

class LibsqlDriver extends SqliteDriver {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    super({ database });
    this.#database = database;
  }

  override async beginTransaction(_connection: DatabaseConnection): Promise<void> {
    this.#database.exec('begin immediate');
  }

  override async commitTransaction(_connection: DatabaseConnection): Promise<void> {
    this.#database.exec('commit');
  }

  override async rollbackTransaction(_connection: DatabaseConnection): Promise<void> {
    // A full disk makes SQLite roll back by itself, and a second rollback would hide the reason.
    if (this.#database.inTransaction) this.#database.exec('rollback');
  }
}
