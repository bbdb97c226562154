import { type Kysely, type Migration, Migrator } from 'kysely';
import { connectMigration } from '../connect/migration.js';
import { createKeyTables } from '../keys/migration.js';
import { usageMigration } from '../usage/migration.js';

type Dialect = 'sqlite' | 'postgres';

/** What a failed migration ends the start with. */
export class MigrationError extends Error {
  constructor(cause: unknown) {
    super('The database could not be brought to this version.', { cause });
    this.name = 'MigrationError';
  }
}

/** Brings the tables up to date; does nothing where they are. `schema` is the one that PostgreSQL creates tables in. */
export async function migrate<T>(db: Kysely<T>, dialect: Dialect, schema?: string): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations(dialect) },
    migrationTableName: 'gateway_migration',
    migrationLockTableName: 'gateway_migration_lock',
    ...(schema !== undefined && { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw new MigrationError(error);
}

/** Every part's tables in the order in which they came; one that has been released is never changed. */
function migrations(dialect: Dialect): Record<string, Migration> {
  return {
    '0001_keys': { up: (db) => createKeyTables(db, dialect) },
    '0002_usage': usageMigration,
    '0003_connect': connectMigration(dialect),
  };
}
