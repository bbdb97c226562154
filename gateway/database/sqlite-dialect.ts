import {
  type CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { beginWriting, type SqliteConnection } from './sqlite-connection.js';

/** Kysely's SQLite dialect over a connection, on whichever thread that is. */
export class SqliteConnectionDialect implements Dialect {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  createDriver(): Driver {
    return new SingleDriver(this.#connection);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new SqliteAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

/** Lends the one connection to one user after the other, in the order in which they came. */
class SingleDriver implements Driver {
  readonly #connection: SqliteConnection;
  readonly #lent: DatabaseConnection;
  /** Resolves when the last of those who wait has given it back. */
  #free: Promise<void> = Promise.resolve();
  #giveBack: () => void = () => {};

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
    this.#lent = new LentConnection(connection);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#free;
    let giveBack: () => void = () => {};
    this.#free = new Promise((resolve) => {
      giveBack = resolve;
    });
    await before;
    this.#giveBack = giveBack;
    return this.#lent;
  }

  async releaseConnection(): Promise<void> {
    this.#giveBack();
  }

  beginTransaction(): Promise<void> {
    return this.#connection.exec(beginWriting);
  }

  commitTransaction(): Promise<void> {
    return this.#connection.exec('commit');
  }

  rollbackTransaction(): Promise<void> {
    return this.#connection.rollback();
  }

  destroy(): Promise<void> {
    return this.#connection.close();
  }
}

class LentConnection implements DatabaseConnection {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
    const reads = SelectQueryNode.is(query);
    return this.#connection.query({ sql, parameters, reads }) as Promise<QueryResult<R>>;
  }

  // biome-ignore lint/correctness/useYield: nobody streams, which would hold the connection for as long as the reader takes.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('SQLite is read whole.');
  }
}
