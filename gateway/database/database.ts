import type { Kysely } from 'kysely';
import type { Config } from '../config.js';
import { openPostgres } from './postgres.js';
import { openSqlite } from './sqlite.js';

/** The one database of a gateway: keys, usage, quotas, the site's accounts. */
export interface Database {
  readonly kind: 'sqlite' | 'postgres';
  // Each part knows its own tables, and Kysely's types do not let one that knows more stand in for one that knows less.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly db: Kysely<any>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Gets the reason when an idle connection is lost; it is replaced by itself. */
  onConnectionLost?: (error: Error) => void;
}

/** Opens the database that the configuration names: PostgreSQL, else the embedded one. Throws where it cannot. */
export function openDatabase(
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  options: DatabaseOptions = {},
): Promise<Database> {
  return databaseUrl === undefined ? openSqlite(dataDir) : openPostgres(databaseUrl, options);
}
