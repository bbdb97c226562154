import { compileFields } from '../../schemas/fields.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import { recipesFolder } from '../plugins/paths.js';
import { knownScopes, type TenantLimits } from './model.js';
import {
  auditSchema,
  keyPageSchema,
  keySchema,
  limitsSchema,
  recipeScope,
  rotationSchema,
  tenantPageSchema,
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

/** One page of a list: `after` is the `next` of the page before, `limit` 1 to 1000, 100 by default. */
export type PageQuery = { after?: string | undefined; limit?: number | undefined };

export interface AuditQuery {
  tenant?: string | undefined;
  key?: string | undefined;
  /** Only entries older than this id. */
  before?: number | undefined;
  limit?: number | undefined;
}

type WithLimit<T extends { limit?: number | undefined }> = T & { limit: number };

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
    tenantPage: compileFields<WithLimit<PageQuery>>(ajv, tenantPageSchema),
    keyPage: compileFields<WithLimit<PageQuery>>(ajv, keyPageSchema),
    audit: compileFields<WithLimit<AuditQuery>>(ajv, auditSchema),
    /** For an operation without input. */
    nothing: compileFields<object>(ajv, { properties: {} }),
    /** What a scope can be at the moment, besides `recipeScope`. */
    knownScopes: scopes,
  };
}
