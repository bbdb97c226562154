import { compileFields } from '../../schemas/fields.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import { recipesFolder } from '../plugins/paths.js';
import { type AuditQuery, auditSchema } from './audit-log.js';
import type { KeyList, TenantList } from './lists.js';
import { type KeyLimits, knownScopes, type TenantLimits } from './model.js';
import {
  declarationSchema,
  keyEditSchema,
  keyListSchema,
  keySchema,
  keySearchSchema,
  limitsSchema,
  recipeScope,
  rotationSchema,
  secretSchema,
  tenantEditSchema,
  tenantListSchema,
  tenantSchema,
  tokenSchema,
} from './schemas.js';

export interface IssueOptions {
  label?: string | undefined;
  /** Service ids or groups such as `text/*`; left out, the key opens every helper. */
  scopes?: string[] | undefined;
  /** ISO 8601, in the future. */
  expires_at?: string | undefined;
}

export interface TokenOptions {
  label: string;
  role: 'operator' | 'support';
  /** ISO 8601, in the future. */
  expires_at?: string | undefined;
}

/** How long the old secret still works, in whole seconds; a day by default, 0 ends every older one at once. */
export type RotateOptions = { grace_seconds?: number | undefined };

/** Changes of a tenant's limits: what is left out stays, null restores the default. */
export type LimitChanges = Partial<TenantLimits> & { weight?: number | null };

/** The same fields as a caller sent them, before they are checked. */
export type Unchecked<T> = { [K in keyof T]?: unknown };

/** Changes of a tenant: what is left out stays, null removes it. */
export interface TenantChanges extends LimitChanges {
  name?: string;
  state?: 'active' | 'suspended';
  external_id?: string | null;
  note?: string | null;
  notice_url?: string | null;
  /** By its name. */
  plan?: string | null;
}

/** Changes of a key, likewise; null scopes are every helper. */
export interface KeyChanges extends Partial<KeyLimits> {
  label?: string | null;
  scopes?: string[] | null;
  /** ISO 8601, in the future. */
  expires_at?: string | null;
  state?: 'active' | 'paused';
}

/** `after` is the `next` of another page, `before` its `previous`; `limit` is 1 to 1000, 100 by default. */
type ListQuery<List extends { order: unknown; limit: unknown }, Own = object> = Omit<
  List,
  'order' | 'since' | 'now' | 'tenant_id'
> &
  Own & { order?: List['order'] | undefined };

type TenantListQuery = ListQuery<TenantList, { days: number }>;
type KeyListQuery = ListQuery<KeyList>;

export type KeyInputs = ReturnType<typeof createKeyInputs>;

/** The checks of all inputs of the administration; `services` are the ids of all helpers. */
export function createKeyInputs(services: () => readonly string[], now: () => number) {
  const scopes = () => [...knownScopes(services()), `${recipesFolder}*`];
  const ajv = createAdminVocabulary({ knownScopes: scopes, scopePattern: recipeScope, now });
  return {
    tenant: compileFields<{ name: string }>(ajv, tenantSchema),
    key: compileFields<IssueOptions>(ajv, keySchema),
    token: compileFields<TokenOptions>(ajv, tokenSchema),
    rotation: compileFields<{ grace_seconds: number }>(ajv, rotationSchema),
    limits: compileFields<LimitChanges>(ajv, limitsSchema),
    tenantChanges: compileFields<TenantChanges>(ajv, tenantEditSchema),
    keyChanges: compileFields<KeyChanges>(ajv, keyEditSchema),
    secret: compileFields<{ key: string }>(ajv, secretSchema),
    tenantList: compileFields<TenantListQuery>(ajv, tenantListSchema),
    keyList: compileFields<KeyListQuery>(ajv, keyListSchema),
    keySearch: compileFields<KeyListQuery & { tenant?: string }>(ajv, keySearchSchema),
    audit: compileFields<AuditQuery & { limit: number }>(ajv, auditSchema),
    declaration: compileFields<object>(ajv, declarationSchema),
    /** For an operation without input. */
    nothing: compileFields<object>(ajv, { properties: {} }),
    /** What a scope can be at the moment, besides `recipeScope`. */
    knownScopes: scopes,
  };
}
