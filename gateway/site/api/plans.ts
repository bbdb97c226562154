import type { KeyInputs } from '../../keys/inputs.js';
import { type ApiRoute, defineRoute } from './route.js';
import { all, countSchema, limit, listOf, ref, shape, stringSchema, timeSchema } from './shapes.js';

const planProperties = {
  name: stringSchema,
  limits: shape(all(limit, 'rate', 'burst', 'monthly_quota', 'in_flight', 'monthly_cpu_ms')),
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
      body: inputs.plan,
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
