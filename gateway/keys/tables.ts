import type { Generated } from 'kysely';
import type { Key, Secret } from './model.js';

/**
 * The tables, the same on both databases. Times are integers (ms since 1970): exact and ordered alike in SQLite and
 * PostgreSQL, which no other type is. Lists and objects are JSON text.
 */
export type KeyTables = {
  tenants: TenantRow;
  keys: KeyRow;
  secrets: Secret;
  audit: AuditRow;
};

export interface TenantRow {
  id: string;
  name: string;
  created_at: number;
  rate: number | null;
  burst: number | null;
  monthly_quota: number | null;
  in_flight: number | null;
  weight: number;
  webhook_version: Generated<number>;
  webhook_rotated_at: number | null;
}

/** Its scopes are a list in JSON. */
export type KeyRow = Omit<Key, 'scopes'> & { scopes: string | null };

export interface AuditRow {
  id: Generated<number>;
  at: number;
  actor: string;
  action: string;
  tenant_id: string | null;
  key_id: string | null;
  detail: string;
}
