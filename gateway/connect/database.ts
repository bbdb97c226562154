import type { Kysely } from 'kysely';
import { type Access, createAccess } from '../database/access.js';
import type { ConnectHandle, ConnectTables } from './tables.js';

/** The site's way to its tables. */
export interface ConnectDatabase extends Access<ConnectTables> {
  readonly kind: 'sqlite' | 'postgres';
  /** For better-auth alone, which brings its own statements. */
  readonly handle: Kysely<ConnectTables>;
}

export function createConnectDatabase(handle: ConnectHandle, kind: 'sqlite' | 'postgres'): ConnectDatabase {
  return { kind, handle, ...createAccess<ConnectTables>(handle) };
}

/** Whether a statement failed because such a row is there already, on either database. */
export function isDuplicate(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === '23505' || code.startsWith('SQLITE_CONSTRAINT');
}
