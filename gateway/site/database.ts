import type { Kysely } from 'kysely';
import type { Access } from '../database/access.js';
import type { Database } from '../database/database.js';
import type { SiteTables } from './tables.js';

/** The site's way to its tables. */
export interface SiteDatabase extends Access<SiteTables> {
  /** For better-auth alone, which brings its own statements. */
  readonly handle: Kysely<SiteTables>;
}

export function createSiteDatabase(database: Database): SiteDatabase {
  return { ...database.access<SiteTables>(), handle: database.handle.withTables<SiteTables>() };
}
