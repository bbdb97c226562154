import { compileFields, type Fields } from '../../schemas/fields.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import { knownScopes, type TenantLimits } from './model.js';
import {
  auditSchema,
  keyPageSchema,
  keySchema,
  limitsSchema,
  rotationSchema,
  tenantPageSchema,
  tenantSchema,
} from './schemas.js';

export interface IssueOptions {
  label?: string | undefined;
  /** Service ids or groups such as `text/*`; left out, the key opens every helper. */
  scopes?: string[] | undefined;
  /** ISO 8601, in the future. */
  expires_at?: string | undefined;
}

export interface RotateOptions {
  /** How long the old secret goes on working, in whole seconds; a day by default, 0 ends every older one at once. */
  grace_seconds?: number | undefined;
}

/** What is to change; what is left out stays, null goes back to the default. */
export type LimitChanges = Partial<TenantLimits> & { weight?: number };

/** What somebody gave for these, of which nothing is judged yet. */
export type Unchecked<T> = { [K in keyof T]?: unknown };

/** One page of a list; `after` is the `next` of the page before. */
export interface PageQuery {
  after?: string | undefined;
  /** 1 to 1000, 100 by default. */
  limit?: number | undefined;
}

export interface AuditQuery {
  tenant?: string | undefined;
  key?: string | undefined;
  /** Only entries older than this id. */
  before?: number | undefined;
  limit?: number | undefined;
}

type WithLimit<T extends { limit?: number | undefined }> = T & { limit: number };

/** Judges of all that the administration of keys takes. */
export interface KeyInputs {
  tenant: Fields<{ name: string }>;
  key: Fields<IssueOptions>;
  rotation: Fields<{ grace_seconds: number }>;
  limits: Fields<LimitChanges>;
  tenantPage: Fields<WithLimit<PageQuery>>;
  keyPage: Fields<WithLimit<PageQuery>>;
  audit: Fields<WithLimit<AuditQuery>>;
  /** Of what takes nothing. */
  nothing: Fields<object>;
  /** What a scope can be at the moment. */
  knownScopes: () => readonly string[];
}

interface KeyInputsOptions {
  /** The ids of all helpers. */
  services: () => readonly string[];
  /** Wall clock, ms. */
  now: () => number;
}

/** Compiles the schemas, once. */
export function createKeyInputs({ services, now }: KeyInputsOptions): KeyInputs {
  const scopes = () => knownScopes(services());
  const ajv = createAdminVocabulary({ knownScopes: scopes, now });
  return {
    tenant: compileFields(ajv, tenantSchema),
    key: compileFields(ajv, keySchema),
    rotation: compileFields(ajv, rotationSchema),
    limits: compileFields(ajv, limitsSchema),
    tenantPage: compileFields(ajv, tenantPageSchema),
    keyPage: compileFields(ajv, keyPageSchema),
    audit: compileFields(ajv, auditSchema),
    nothing: compileFields(ajv, { properties: {} }),
    knownScopes: scopes,
  };
}
