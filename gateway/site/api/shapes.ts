/** What the JSON API answers with, as JSON Schema (2020-12, as OpenAPI 3.1 has it). */

import { limitsSchema } from '../../keys/schemas.js';

const { weight } = limitsSchema.properties;

const string = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const timeOrNull = { type: ['string', 'null'], format: 'date-time' } as const;
const textOrNull = { type: ['string', 'null'] } as const;
const count = { type: 'integer', minimum: 0 } as const;
const limit = { type: ['number', 'null'], description: "Null is the gateway's default." } as const;
const scopes = {
  type: ['array', 'null'],
  items: string,
  description: 'Null is every helper.',
} as const;

/** An object with exactly these properties. */
export function shape(properties: Record<string, object>, optional: readonly string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

export function listOf(items: object) {
  return { type: 'array', items };
}

const tenant = {
  id: string,
  name: string,
  created_at: time,
  limits: shape({ rate: limit, burst: limit, monthly_quota: limit, in_flight: limit }),
  weight: { type: 'integer', minimum: weight.minimum, maximum: weight.maximum },
} as const;

export const shapes = {
  Tenant: shape(tenant),
  SecretTenant: shape(
    {
      ...tenant,
      webhook_secret: {
        ...textOrNull,
        description: 'What its webhooks are signed with; null where the gateway has no master secret.',
      },
      webhook_hint: { type: 'string', description: 'Where it is null: what is missing.' },
    },
    ['webhook_hint'],
  ),
  Key: shape({
    id: string,
    label: textOrNull,
    scopes,
    state: { type: 'string', enum: ['active', 'expired', 'revoked'] },
    hint: { type: 'string', description: 'First and last characters of the current secret.' },
    created_at: time,
    expires_at: timeOrNull,
    revoked_at: timeOrNull,
    last_used_at: timeOrNull,
    secrets: listOf(shape({ id: string, hint: string, created_at: time, expires_at: timeOrNull })),
  }),
  IssuedKey: shape({
    id: string,
    key: { type: 'string', description: 'The key itself, this once.' },
    tenant: string,
    label: textOrNull,
    scopes,
    expires_at: timeOrNull,
    signing_secret: {
      ...textOrNull,
      description: 'What signs urls for it; null where the gateway has no master secret.',
    },
  }),
  RotatedKey: shape({
    id: string,
    key: { type: 'string', description: 'The new secret, this once.' },
    previous_expires_at: {
      ...time,
      description: 'When the secret that was current until now stops working.',
    },
  }),
  SigningSecret: shape({
    id: { type: 'string', description: "The key's id, which stands in the urls as `kid`." },
    signing_secret: {
      type: 'string',
      description: 'The current one; it stays in force until the next rotation.',
    },
  }),
  WebhookSecret: shape({
    tenant: string,
    webhook_secret: { type: 'string', description: '`whsec_` and base64, as Standard Webhooks has it.' },
    previous_until: {
      ...timeOrNull,
      description:
        'Until when webhooks are signed with the secret before it as well; null where they are not.',
    },
  }),
  UsageRow: {
    ...shape({
      day: { type: 'string', format: 'date', description: 'UTC.' },
      key: { type: 'string', description: "The key's id." },
      service: string,
      calls: count,
      errors: count,
      bytes_in: count,
      bytes_out: count,
      cpu_ms: { type: 'number', minimum: 0 },
    }),
    // Errors by class come with them where the gateway counts them.
    additionalProperties: { type: 'number' },
  },
  AuditEntry: shape({
    id: { type: 'integer' },
    at: time,
    actor: string,
    action: string,
    tenant_id: textOrNull,
    key_id: textOrNull,
    detail: { type: 'object' },
  }),
  Meta: shape({ service: { type: 'null' }, dryrun: { type: 'boolean' }, request_id: string }),
  Failure: shape({
    ok: { const: false },
    error: shape(
      { code: string, message: string, details: listOf(shape({ field: string, problem: string })) },
      ['details'],
    ),
    meta: { $ref: '#/components/schemas/Meta' },
  }),
} as const;

/** A reference to one of them. */
export function ref(name: keyof typeof shapes): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
