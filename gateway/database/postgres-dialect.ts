import { type DatabaseIntrospector, type Kysely, PostgresDialect, PostgresIntrospector, sql } from 'kysely';

/**
 * Kysely's PostgreSQL dialect, whose introspection sees the schema that tables are made in and no other. Kysely's own asks about
 * every table of the database, which takes long where there are many, and fails where another program drops one meanwhile.
 */
export class OwnSchemaDialect extends PostgresDialect {
  override createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new OwnSchemaIntrospector(db);
  }
}

/** Names of tables alone: the migrator asks for no more. */
class OwnSchemaIntrospector extends PostgresIntrospector {
  readonly #db: Kysely<unknown>;

  constructor(db: Kysely<unknown>) {
    super(db);
    this.#db = db;
  }

  override async getTables() {
    const { rows } = await sql<{ schema: string; name: string }>`
      select schemaname as schema, tablename as name from pg_catalog.pg_tables where schemaname = current_schema()
    `.execute(this.#db);
    return rows.map((row) => ({ ...row, isView: false, columns: [] }));
  }
}
