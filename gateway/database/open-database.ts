import type { Database, OpenOptions } from './database.js';
import { openSqlite } from './sqlite.js';

/** Where a gateway's database is. */
export interface DatabaseLocation {
  /** `postgres://…`; without it the database is the embedded one. */
  databaseUrl?: string | undefined;
  dataDir: string;
}

/** Opens the database at a location: PostgreSQL, else the embedded one. Throws where it cannot. */
export async function openDatabase(
  { databaseUrl, dataDir }: DatabaseLocation,
  options: OpenOptions,
): Promise<Database> {
  if (databaseUrl === undefined) return openSqlite(dataDir, options);
  // Imported only where it is used, as the other has no need of its driver.
  const { openPostgres } = await import('./postgres.js');
  return openPostgres(databaseUrl, options);
}
