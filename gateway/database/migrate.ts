import { type Kysely, type Migration, Migrator } from 'kysely';

/** The table that says which migrations have been run: a database that has it is a gateway's. */
export const migrationTable = 'gateway_migration';

/** What a failed migration ends the start with. */
export class MigrationError extends Error {
  constructor(cause: unknown) {
    super('The database could not be brought to this version.', { cause });
    this.name = 'MigrationError';
  }
}

/** Brings the tables up to date; does nothing where they are. `schema` is the one that PostgreSQL creates tables in. */
export async function migrate(
  db: Kysely<unknown>,
  migrations: Record<string, Migration>,
  schema?: string,
): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: migrationTable,
    migrationLockTableName: 'gateway_migration_lock',
    ...(schema !== undefined && { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw new MigrationError(newerVersion(error) ?? error);
}

/** What the migrator finds corrupt is as a rule a program that was put back after its database had been brought on. */
function newerVersion(error: unknown): Error | undefined {
  const [, name] = /previously executed migration (\S+) is missing/.exec(String(error)) ?? [];
  if (name === undefined) return undefined;
  const message = `a newer version has changed its tables (${name}); run that version, or restore a back-up from before`;
  return new Error(message);
}
