import { limitBounds } from '../../schemas/config/config.js';
import type { FieldsSchema } from '../../schemas/fields.js';
import { recipesFolder } from '../plugins/paths.js';

/** Inputs of pages, JSON API, OpenAPI document and command line: the one place of each bound. */

const maxTenantName = 63;
const maxScopes = 100;
const cursorSchema = {
  form: 'the next of the page before, unchanged',
  description: '`next` of the page before.',
} as const;

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
    name: { ...tenantName, description: 'The name, which cannot be changed later.', examples: ['acme'] },
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

export const tenantPageSchema = {
  properties: { after: { ...tenantName, ...cursorSchema }, limit: pageSizeSchema('Tenants') },
} as const satisfies FieldsSchema;

export const keyPageSchema = {
  properties: { after: { ...keyId, ...cursorSchema }, limit: pageSizeSchema('Keys') },
} as const satisfies FieldsSchema;

export const auditSchema = {
  properties: {
    tenant: { ...tenantName, description: 'Only what concerns this tenant.' },
    key: { ...keyId, description: 'Only what concerns this key.' },
    before: {
      type: 'integer',
      minimum: 1,
      maximum: 999_999_999_999_999,
      ...cursorSchema,
    },
    limit: pageSizeSchema('Entries'),
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

function pageSizeSchema(what: string) {
  return { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: `${what} a page.` };
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
