import type { Selectable } from 'kysely';

import type { AuditAction, AuditEntry, Key, Tenant } from './model.js';
import type { AuditRow, KeyRow, TenantRow } from './tables.js';

export function tenantOf(row: Selectable<TenantRow>): Tenant {
  const { id, name, created_at, weight, rate, burst, monthly_quota, in_flight } = row;
  const { webhook_version, webhook_rotated_at } = row;
  const limits = { rate, burst, monthly_quota, in_flight };
  return { id, name, created_at, limits, weight, webhook_version, webhook_rotated_at };
}

export function tenantRow({ limits, ...tenant }: Tenant): Selectable<TenantRow> {
  return { ...tenant, ...limits };
}

export function keyOf(row: KeyRow): Key {
  return { ...row, scopes: row.scopes === null ? null : JSON.parse(row.scopes) };
}

export function keyRow(key: Key): KeyRow {
  return { ...key, scopes: key.scopes === null ? null : JSON.stringify(key.scopes) };
}

export function auditOf(row: Selectable<AuditRow>): AuditEntry {
  return { ...row, action: row.action as AuditAction, detail: JSON.parse(row.detail) };
}

export function auditRow(entry: Omit<AuditEntry, 'id'>): Omit<AuditRow, 'id'> {
  return { ...entry, detail: JSON.stringify(entry.detail) };
}
