import type { FieldsSchema } from '../../schemas/fields.js';
import { limitBounds } from '../../schemas/limits.js';

/**
 * What the administration of keys takes, as JSON Schema with the administration's vocabulary: the one place of each bound. Pages,
 * JSON API and command line are judged by it, and the API's OpenAPI document is made from it.
 */

const longestName = 63;
const mostScopes = 100;
const cursor = {
  form: 'the next of the page before, unchanged',
  description: '`next` of the page before.',
} as const;

export const tenantName = {
  type: 'string',
  maxLength: longestName,
  pattern: '^[a-z0-9][a-z0-9-]*$',
  form: `1 to ${longestName} of a-z, 0-9 and "-", not beginning with "-"`,
} as const;

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
      maxItems: mostScopes,
      scopes: true,
      form: `a list of 1 to ${mostScopes} helpers or groups such as text/*`,
      description: 'Helpers that the key may call, by id or as a group; left out, it may call every helper.',
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
    rate: limit(limitBounds.rate, 'Requests a second; 0 is no limit.'),
    burst: limit(limitBounds.burst, 'Requests that may come at once on top of the rate.'),
    monthly_quota: limit(limitBounds.monthly_quota, 'Successful calls a calendar month (UTC).'),
    in_flight: limit(
      limitBounds.in_flight,
      'Tasks in the worker pool at once, waiting or running, in one gateway.',
    ),
    weight: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      description: 'Share of the workers when all are busy.',
    },
  },
} as const satisfies FieldsSchema;

export const tenantPageSchema = {
  properties: { after: { ...tenantName, ...cursor }, limit: pageSize('Tenants') },
} as const satisfies FieldsSchema;

export const keyPageSchema = {
  properties: { after: { ...keyId, ...cursor }, limit: pageSize('Keys') },
} as const satisfies FieldsSchema;

export const auditSchema = {
  properties: {
    tenant: { ...tenantName, description: 'Only what concerns this tenant.' },
    key: { ...keyId, description: 'Only what concerns this key.' },
    before: {
      type: 'integer',
      minimum: 1,
      maximum: 999_999_999_999_999,
      ...cursor,
    },
    limit: pageSize('Entries'),
  },
} as const satisfies FieldsSchema;

/** A whole number, or null for the gateway's default. */
function limit({ min, max }: { min: number; max: number }, description: string) {
  return {
    type: ['integer', 'null'],
    minimum: min,
    maximum: max,
    form: `a whole number from ${min} to ${max}`,
    description: `${description} Null goes back to the gateway's default.`,
  };
}

function pageSize(what: string) {
  return { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: `${what} a page.` };
}
