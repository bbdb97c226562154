import type { Kysely, Migration } from 'kysely';
import { type Access, createAccess, type DatabaseKind, type NoTables, type TableSet } from './access.js';

/** The one database of a gateway: keys, usage, quotas, the site's accounts. */
export interface Database {
  readonly kind: DatabaseKind;
  /** A room's way to its own tables. */
  access<Tables extends TableSet = NoTables>(): Access<Tables>;
  /** The door past `access`, without its patience: for better-auth alone, which brings its own statements. */
  readonly handle: Kysely<unknown>;
  close(): Promise<void>;
}

/** Every part's tables by name, in the order in which they came. */
export type Migrations = (kind: DatabaseKind) => Record<string, Migration>;

export interface OpenOptions {
  /** What brings the tables up to date. */
  migrations: Migrations;
  /** Whether to make a database where there is none; by default that is an error, `not_found`. */
  create?: boolean;
  /**
   * Whether SQLite works on a thread of its own: for a process that serves. A command does without, since a thread costs it more
   * than its few statements.
   */
  ownThread?: boolean;
  /** Gets the reason when an idle connection is lost; it is replaced by itself. */
  onConnectionLost?: (error: Error) => void;
}

/** A database on an open handle, which it closes. */
export function createDatabase(handle: Kysely<unknown>, kind: DatabaseKind): Database {
  return {
    kind,
    access: createAccess(handle.withTables<NoTables>(), kind),
    handle,
    close: () => handle.destroy(),
  };
}
