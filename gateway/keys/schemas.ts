import { limitBounds } from '../../schemas/config/config.js';
import type { FieldsSchema } from '../../schemas/fields.js';
import { recipesFolder } from '../plugins/paths.js';

/** Inputs of pages, JSON API, OpenAPI document and command line: the one place of each bound. */

const maxTenantName = 63;
const maxScopes = 100;

export const tenantName = {
  type: 'string',
  maxLength: maxTenantName,
  pattern: '^[a-z0-9][a-z0-9-]*$',
  form: `1 to ${maxTenantName} of a-z, 0-9 and "-", not beginning with "-"`,
} as const;

export const recipeName = {
  type: 'string',
  pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
  form: '1 to 63 of a-z, 0-9 and "-", not beginning with "-"',
} as const;

/** A scope for one recipe of the key's tenant, which may be made later: a regular expression. */
export const recipeScope = `^${recipesFolder}${recipeName.pattern.slice(1)}`;

export const keyId = {
  type: 'string',
  pattern: '^key_[0-9A-Za-z]{1,40}$',
  form: "a key's id such as key_4fGhJ2kLm9Qr",
} as const;

export const tenantSchema = {
  properties: {
    name: { ...tenantName, description: 'The name.', examples: ['acme'] },
  },
  required: ['name'],
} as const satisfies FieldsSchema;

export const keySchema = {
  properties: {
    label: { type: 'string', line: 100, description: 'Who or what uses the key.', examples: ['billing'] },
    scopes: {
      type: 'array',
      minItems: 1,
      maxItems: maxScopes,
      scopes: true,
      form: `a list of 1 to ${maxScopes} helpers or groups such as text/*`,
      description:
        'Helpers that the key may call, by id or as a group; left out, it may call every one. `recipes/<name>` is a recipe of the tenant.',
      examples: [['text/*']],
    },
    expires_at: {
      type: 'string',
      future: true,
      description: 'ISO 8601, in the future: a day (its first moment in UTC), or a time with Z or an offset.',
      examples: ['2099-01-31T18:00:00Z'],
    },
  },
} as const satisfies FieldsSchema;

/** Of an API token of the site. */
export const tokenSchema = {
  properties: {
    label: {
      ...keySchema.properties.label,
      minLength: 1,
      description: 'Which program uses it; the audit log names it so.',
    },
    role: {
      type: 'string',
      enum: ['operator', 'support'],
      description: 'An operator token does everything; a support token reads, and sees no secret.',
    },
    expires_at: keySchema.properties.expires_at,
  },
  required: ['label', 'role'],
} as const satisfies FieldsSchema;

export const rotationSchema = {
  properties: {
    grace_seconds: {
      type: 'integer',
      minimum: 0,
      maximum: 90 * 86_400,
      default: 86_400,
      description: 'How long the old secret goes on working; 0 ends every older one at once.',
    },
  },
} as const satisfies FieldsSchema;

export const limitsSchema = {
  properties: {
    rate: nullableLimit(limitBounds.rate, 'Requests a second; 0 is no limit.'),
    burst: nullableLimit(limitBounds.burst, 'Requests that may come at once on top of the rate.'),
    monthly_quota: nullableLimit(limitBounds.monthly_quota, 'Successful calls a calendar month (UTC).'),
    in_flight: nullableLimit(
      limitBounds.in_flight,
      'Tasks in the worker pool at once, waiting or running, in one gateway.',
    ),
    monthly_cpu_ms: nullableLimit(
      limitBounds.monthly_cpu_ms,
      'Milliseconds of CPU that calls may cost in a calendar month (UTC).',
    ),
    weight: nullableLimit({ min: 1, max: 100 }, 'Share of the workers when all are busy.'),
  },
} as const satisfies FieldsSchema;

const planName = { ...tenantName, description: 'A plan.', examples: ['team'] } as const;

export const tenantEditSchema = {
  properties: {
    name: { ...tenantName, description: 'Another name; the one before is free at once.' },
    state: {
      type: 'string',
      enum: ['active', 'suspended'],
      description: 'All calls of a suspended tenant are refused, and its jobs wait.',
    },
    external_id: nullable({ line: 200, description: "Its id in the operator's own systems." }),
    note: nullable({ line: 1000, description: 'For operators.' }),
    notice_url: nullable({
      maxLength: 2000,
      description: 'A public https url that its notices are sent to.',
    }),
    plan: { ...planName, type: ['string', 'null'], description: 'Its plan, by name.' },
    ...limitsSchema.properties,
  },
} as const satisfies FieldsSchema;

const { label, scopes, expires_at } = keySchema.properties;
const { rate, monthly_quota, monthly_cpu_ms } = limitsSchema.properties;

const keyLimits = {
  rate: ofKey(rate, 'Requests a second'),
  monthly_quota: ofKey(monthly_quota, 'Successful calls a calendar month (UTC)'),
  monthly_cpu_ms: ofKey(monthly_cpu_ms, 'Milliseconds of CPU a calendar month (UTC)'),
};

export const keyEditSchema = {
  properties: {
    label: { ...label, type: ['string', 'null'] },
    scopes: { ...scopes, type: ['array', 'null'] },
    expires_at: { ...expires_at, type: ['string', 'null'] },
    state: {
      type: 'string',
      enum: ['active', 'paused'],
      description: 'The calls of a paused key are refused until it is active again.',
    },
    ...keyLimits,
  },
} as const satisfies FieldsSchema;

/** What `helper-gateway apply` reads. What recipes are is checked by their compiler. */
export const declarationSchema = {
  properties: {
    plans: listOf({ name: tenantName, limits: objectOf(limitsSchema.properties) }, 'name'),
    tenants: listOf(
      {
        ...tenantEditSchema.properties,
        limits: objectOf(limitsSchema.properties),
        keys: listOf({ ...keyEditSchema.properties, label, limits: objectOf(keyLimits) }, 'label'),
        recipes: { type: 'object', additionalProperties: { type: ['object', 'string'] } },
      },
      'name',
    ),
  },
} as const satisfies FieldsSchema;

export const secretSchema = {
  properties: {
    key: { type: 'string', maxLength: 100, description: 'A whole key, current or in its grace.' },
  },
  required: ['key'],
} as const satisfies FieldsSchema;

export const tenantSorts = ['name', 'created_at', 'calls', 'errors', 'cpu_ms', 'last_used_at'] as const;
export const keySorts = ['created_at', 'label', 'tenant', 'last_used_at', 'expires_at'] as const;
/** Of keys; without one a list has all that are not revoked. */
export const keyFilters = ['active', 'paused', 'in_grace', 'expired', 'revoked', 'all'] as const;

export const tenantListSchema = {
  properties: {
    q: searchSchema('name, external id or note'),
    state: { type: 'string', enum: ['active', 'suspended'], description: 'Only these.' },
    plan: { ...planName, description: 'Only tenants of this plan.' },
    ...sortSchema(tenantSorts, 'name', 'calls, errors and cpu_ms are sums of the last `days`'),
    days: {
      type: 'integer',
      minimum: 1,
      maximum: 400,
      default: 7,
      description: 'Days whose calls are summed up, today included (UTC).',
    },
    ...pageSchema('Tenants'),
  },
} as const satisfies FieldsSchema;

export const keyListSchema = {
  properties: {
    q: searchSchema('id, label or first characters'),
    state: { type: 'string', enum: [...keyFilters], description: 'Only these.' },
    ...sortSchema(keySorts, 'created_at'),
    ...pageSchema('Keys'),
  },
} as const satisfies FieldsSchema;

export const keySearchSchema = {
  properties: {
    ...keyListSchema.properties,
    tenant: { ...tenantName, description: 'Only keys of this tenant.' },
  },
} as const satisfies FieldsSchema;

/** A whole number, or null for the gateway's default. */
function nullableLimit({ min, max }: { min: number; max: number }, description: string) {
  return {
    type: ['integer', 'null'],
    minimum: min,
    maximum: max,
    form: `a whole number from ${min} to ${max}`,
    description: `${description} Null goes back to the gateway's default.`,
  };
}

function objectOf(properties: FieldsSchema['properties']) {
  return { type: 'object', additionalProperties: false, properties };
}

function listOf(properties: FieldsSchema['properties'], id: string) {
  return { type: 'array', items: { ...objectOf(properties), required: [id] } };
}

export function pageSizeSchema(what: string) {
  return { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: `${what} a page.` };
}

function nullable(
  schema: { line: number; description: string } | { maxLength: number; description: string },
) {
  return { ...schema, type: ['string', 'null'], description: `${schema.description} Null removes it.` };
}

/** A limit of a key below its tenant's. */
function ofKey<T extends object>(schema: T, what: string) {
  const description = `${what} of this key alone; the tenant's holds as well. Null is no limit of its own.`;
  return { ...schema, description };
}

function searchSchema(where: string) {
  return {
    type: 'string',
    line: 200,
    description: `A text in the ${where}; case does not matter from A to Z.`,
  };
}

function sortSchema(sorts: readonly string[], standard: string, note?: string) {
  const description = `What they are sorted by${note === undefined ? '' : `; ${note}`}.`;
  return {
    sort: { type: 'string', enum: [...sorts], default: standard, description },
    order: { type: 'string', enum: ['asc', 'desc'], description: 'By default texts asc, all else desc.' },
  };
}

function pageSchema(what: string) {
  const cursor = {
    type: 'string',
    maxLength: 1000,
    pattern: '^[\\w-]+$',
    form: 'a cursor of another page, unchanged',
  };
  return {
    after: { ...cursor, description: '`next` of the page before.' },
    before: { ...cursor, description: '`previous` of the page behind.' },
    limit: pageSizeSchema(what),
  };
}

const tenantNamePattern = new RegExp(tenantName.pattern);
const recipeNamePattern = new RegExp(recipeName.pattern);
const keyIdPattern = new RegExp(keyId.pattern);

/** Whether a tenant can have this name: what cannot be one is not looked up (PostgreSQL refuses some of it). */
export function isTenantName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= tenantName.maxLength && tenantNamePattern.test(value);
}

export function isRecipeName(value: unknown): value is string {
  return typeof value === 'string' && recipeNamePattern.test(value);
}

export function isKeyId(value: unknown): value is string {
  return typeof value === 'string' && keyIdPattern.test(value);
}
