import type { Generated } from 'kysely';

/**
 * The tables, the same on both databases. Times are integers (ms since 1970): exact and ordered alike in SQLite and
 * PostgreSQL, which no other type is. Lists and objects are JSON text.
 */
export interface Tables {
  tenants: TenantRow;
  keys: KeyRow;
  secrets: SecretRow;
  audit: AuditRow;
}

export interface TenantRow {
  id: string;
  name: string;
  created_at: number;
  rate: number | null;
  burst: number | null;
  monthly_quota: number | null;
  in_flight: number | null;
  weight: number;
}

export interface KeyRow {
  id: string;
  tenant_id: string;
  label: string | null;
  scopes: string | null;
  expires_at: number | null;
  created_at: number;
  revoked_at: number | null;
  last_used_at: number | null;
}

export interface SecretRow {
  id: string;
  key_id: string;
  hash: string;
  prefix: string;
  suffix: string;
  created_at: number;
  expires_at: number | null;
  ended_at: number | null;
}

export interface AuditRow {
  id: Generated<number>;
  at: number;
  actor: string;
  action: string;
  tenant_id: string | null;
  key_id: string | null;
  detail: string;
}
