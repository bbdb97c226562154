import type { KeyInputs } from '../../keys/inputs.js';
import { type ApiRoute, defineRoute } from './route.js';
import {
  all,
  described,
  limit,
  listOf,
  nextSchema,
  nullableText,
  nullableTime,
  ref,
  shape,
  stringSchema,
  timeSchema,
} from './shapes.js';

const tenantProperties = {
  ...all(stringSchema, 'id', 'name'),
  created_at: timeSchema,
  state: { type: 'string', enum: ['active', 'suspended'] },
  suspended_at: nullableTime,
  ...all(nullableText, 'plan', 'external_id', 'note', 'notice_url'),
  limits: described(
    shape(all(limit, 'rate', 'burst', 'monthly_quota', 'in_flight', 'monthly_cpu_ms')),
    'Its own values, which win over those of its plan.',
  ),
  weight: { type: 'number', description: 'What holds: its own, else that of its plan, else 1.' },
} as const;

/** Tenants and their webhook secrets. */
export function tenantRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    defineRoute('POST /api/tenants', 'createTenant', {
      summary: 'Creates a tenant.',
      body: inputs.tenant,
      data: ref('Tenant'),
      run: ({ site, body, actor }) => site.admin.createTenant(body.name, actor),
    }),
    defineRoute('GET /api/tenants', 'listTenants', {
      summary: 'Lists tenants by name.',
      query: inputs.tenantPage,
      data: shape({ tenants: listOf(ref('Tenant')), next: nextSchema }),
      run: ({ site, query }) => site.admin.listTenants(query),
    }),
    defineRoute('GET /api/tenants/:name', 'getTenant', {
      summary: 'Shows a tenant, and what its webhooks are signed with.',
      data: ref('SecretTenant'),
      async run({ site, params: { name = '' }, mayChange }) {
        if (mayChange) return site.admin.tenantWithSecret(name);
        const webhook_hint = 'A support token is shown no secret.';
        return { ...(await site.admin.tenant(name)), webhook_secret: null, webhook_hint };
      },
    }),
    defineRoute('PATCH /api/tenants/:name', 'setLimits', {
      summary: "Changes a tenant's limits and weight; what is left out stays.",
      body: inputs.limits,
      data: ref('Tenant'),
      run: ({ site, params, body, actor }) => site.admin.setLimits(params.name ?? '', body, actor),
    }),
    defineRoute('POST /api/tenants/:name/rotate-webhook-secret', 'rotateWebhookSecret', {
      summary:
        'Gives a tenant another webhook secret; for a day webhooks are signed with the one before as well.',
      body: inputs.nothing,
      data: ref('WebhookSecret'),
      run: ({ site, params, actor }) => site.admin.rotateWebhookSecret(params.name ?? '', actor),
    }),
  ];
}

export const tenantShapes = {
  Tenant: shape(tenantProperties),
  SecretTenant: shape(
    {
      ...tenantProperties,
      webhook_secret: described(
        nullableText,
        'What its webhooks are signed with; null where the gateway has no master secret.',
      ),
      webhook_hint: described(stringSchema, 'Where it is null: what is missing.'),
    },
    ['webhook_hint'],
  ),
  WebhookSecret: shape({
    tenant: stringSchema,
    webhook_secret: described(stringSchema, '`whsec_` and base64, as Standard Webhooks has it.'),
    previous_until: described(
      nullableTime,
      'Until when webhooks are signed with the secret before it as well; null where they are not.',
    ),
  }),
};
