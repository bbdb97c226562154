import type { Kysely } from 'kysely';
import type { FieldsSchema } from '../../schemas/fields.js';
import { parseSpan } from '../../schemas/keywords/future.js';
import type { DatabaseKind } from '../database/database.js';
import type { AuditAction, AuditEntry } from './audit-text.js';
import { auditActions } from './audit-text.js';
import { containing } from './lists.js';
import { keyId, pageSizeSchema, tenantName } from './schemas.js';
import type { KeyTables } from './tables.js';

const entryId = { type: 'integer', minimum: 1, maximum: 999_999_999_999_999 } as const;

export const auditSchema = {
  properties: {
    actor: { type: 'string', line: 200, description: 'Only what was done by whom contains this text.' },
    action: { type: 'string', enum: auditActions, description: 'Only this action.' },
    tenant: { ...tenantName, description: 'Only what concerns this tenant.' },
    key: { ...keyId, description: 'Only what concerns this key.' },
    from: { type: 'string', moment: true, description: 'Only from this day (UTC) or time on.' },
    to: { type: 'string', moment: true, description: 'Only up to this day or time, included.' },
    before: { ...entryId, description: '`next` of another page: what is older than that entry.' },
    after: { ...entryId, description: '`previous` of another page: what is newer.' },
    limit: pageSizeSchema('Entries'),
  },
} as const satisfies FieldsSchema;

type Place = 'before' | 'after' | 'limit';

export type AuditQuery = {
  [Name in Exclude<keyof typeof auditSchema.properties, Place>]?: string | undefined;
} & {
  [Name in Place]?: number | undefined;
};

export type AuditPage = Omit<AuditQuery, 'tenant' | 'key' | 'limit'> & {
  tenant_id?: string | undefined;
  key_id?: string | undefined;
  limit: number;
};

/** Newest first; with `after` those that follow it. */
export async function readAudit(
  db: Kysely<KeyTables>,
  kind: DatabaseKind,
  page: AuditPage,
): Promise<AuditEntry[]> {
  const { actor, action, tenant_id, key_id, before, after, limit } = page;
  const { from, until } = parseSpan(page);
  let query = db
    .selectFrom('audit')
    .selectAll()
    .orderBy('id', after === undefined ? 'desc' : 'asc')
    .limit(limit);
  if (actor !== undefined) for (const has of containing(kind, actor, ['actor'])) query = query.where(has);
  if (action !== undefined) query = query.where('action', '=', action);
  if (tenant_id !== undefined) query = query.where('tenant_id', '=', tenant_id);
  if (key_id !== undefined) query = query.where('key_id', '=', key_id);
  if (from !== undefined) query = query.where('at', '>=', from);
  if (until !== undefined) query = query.where('at', '<', until);
  if (before !== undefined) query = query.where('id', '<', before);
  if (after !== undefined) query = query.where('id', '>', after);
  const rows = await query.execute();
  if (after !== undefined) rows.reverse();
  return rows.map((row) => ({ ...row, action: row.action as AuditAction, detail: JSON.parse(row.detail) }));
}
