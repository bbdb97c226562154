import type { KeyInputs } from '../../keys/inputs.js';
import { originOf, type TenantView } from '../../keys/model.js';
import { type ApiRoute, defineRoute } from './route.js';
import {
  all,
  countSchema,
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

const inForce = shape({
  value: { type: ['number', 'null'] },
  from: { type: 'string', enum: ['tenant', 'plan', 'gateway'] },
});
const limitNames = ['rate', 'burst', 'monthly_quota', 'in_flight', 'monthly_cpu_ms'] as const;

const tenantProperties = {
  ...all(stringSchema, 'id', 'name'),
  created_at: timeSchema,
  state: { type: 'string', enum: ['active', 'suspended'] },
  suspended_at: nullableTime,
  ...all(nullableText, 'plan', 'external_id', 'note', 'notice_url'),
  limits: described(shape(all(limit, ...limitNames)), 'Its own values, which win over those of its plan.'),
  weight: { type: 'number', description: 'What holds: its own, else that of its plan, else 1.' },
  in_force: described(shape(all(inForce, ...limitNames, 'weight')), 'What holds, and whose value it is.'),
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
      summary: 'Lists tenants, by name by default, with figures of the last days.',
      query: inputs.tenantList,
      data: shape({ tenants: listOf(ref('ListedTenant')), previous: nextSchema, next: nextSchema }),
      async run({ site, query, mayChange }) {
        const { tenants, ...ways } = await site.admin.listTenants(query);
        return { tenants: mayChange ? tenants : tenants.map(withoutPath), ...ways };
      },
    }),
    defineRoute('GET /api/tenants/:name', 'getTenant', {
      summary: 'Shows a tenant, what it has used in this month, and what its webhooks are signed with.',
      data: ref('SecretTenant'),
      async run({ site: { admin }, params: { name = '' }, mayChange }) {
        const tenant = await (mayChange ? admin.tenantWithSecret(name) : admin.tenant(name));
        const used = await admin.limitUse(tenant);
        if (mayChange) return { ...tenant, used };
        const hidden = { webhook_secret: null, webhook_hint: 'A support token is shown no secret.' };
        return { ...withoutPath(tenant), ...hidden, used };
      },
    }),
    defineRoute('PATCH /api/tenants/:name', 'editTenant', {
      summary: "Changes a tenant's name, state, plan, limits and notes, all at once; what is left out stays.",
      body: inputs.tenantChanges,
      data: ref('Tenant'),
      run: ({ site, params, body, actor }) => site.admin.editTenant(params.name ?? '', body, actor),
    }),
    defineRoute('DELETE /api/tenants/:name', 'deleteTenant', {
      summary:
        'Deletes a tenant for good, with its keys, recipes, members and jobs; its usage stays on record.',
      data: shape({
        ...all(stringSchema, 'id', 'name'),
        deleted: shape(all(countSchema, 'keys', 'recipes', 'members', 'jobs')),
      }),
      run: ({ site, params, actor }) => site.admin.deleteTenant(params.name ?? '', actor),
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

/** As those see it who are shown no secret. */
function withoutPath<T extends TenantView>(tenant: T): T {
  return { ...tenant, notice_url: originOf(tenant.notice_url) };
}

export const tenantShapes = {
  Tenant: shape(tenantProperties),
  ListedTenant: shape({
    ...tenantProperties,
    ...all(countSchema, 'calls', 'errors', 'cpu_ms'),
    last_used_at: nullableTime,
  }),
  SecretTenant: shape(
    {
      ...tenantProperties,
      used: described(
        shape({
          calls: described({ ...countSchema, type: ['integer', 'null'] }, 'Null without a quota.'),
          cpu_ms: countSchema,
        }),
        'What counts against its limits in this calendar month (UTC).',
      ),
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

const planProperties = {
  name: stringSchema,
  limits: shape(all(limit, ...limitNames)),
  weight: limit,
  ...all(timeSchema, 'created_at', 'updated_at'),
};

/** Named sets of limits that tenants refer to. */
export function planRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    defineRoute('GET /api/plans', 'listPlans', {
      summary: 'Lists plans by name, each with how many tenants refer to it.',
      data: shape({ plans: listOf(shape({ ...planProperties, tenants: countSchema })) }),
      run: async ({ site }) => ({ plans: await site.admin.plans() }),
    }),
    defineRoute('PUT /api/plans/:plan', 'putPlan', {
      summary: 'Adds a plan, or replaces the one of this name; what is left out has no value.',
      creates: true,
      body: inputs.limits,
      data: shape({ plan: ref('Plan') }),
      async run({ site, params, body, actor, answer }) {
        const { plan, isNew } = await site.admin.putPlan(params.plan ?? '', body, actor);
        if (isNew) answer.status = 201;
        return { plan };
      },
    }),
    defineRoute('DELETE /api/plans/:plan', 'deletePlan', {
      summary: 'Deletes a plan that no tenant refers to, and shows what it was.',
      data: shape({ plan: ref('Plan') }),
      run: async ({ site, params, actor }) => ({
        plan: await site.admin.deletePlan(params.plan ?? '', actor),
      }),
    }),
  ];
}

export const planShapes = { Plan: shape(planProperties) };
