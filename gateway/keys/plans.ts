import { quote } from '../../schemas/quote.js';
import { GatewayError, inputError, requireValid } from '../errors.js';
import type { KeyInputs, LimitChanges, Unchecked } from './inputs.js';
import { noLimits, type Plan, viewPlan } from './model.js';
import { isTenantName, tenantName } from './schemas.js';
import type { KeyStore, KeyTransaction } from './store.js';

export type PlanView = ReturnType<typeof viewPlan>;

/** Named sets of limits, which the tenants that refer to them share. */
export function createPlanChanges(store: KeyStore, inputs: KeyInputs, now: () => number) {
  return {
    /** By name, each with how many tenants refer to it. */
    async plans() {
      const plans = await store.plans();
      return plans.map(({ tenants, ...plan }) => ({ ...viewPlan(plan), tenants }));
    },

    /** Adds a plan, or replaces the one of this name: what is left out has no value. */
    async putPlan(name: string, values: Unchecked<LimitChanges>, actor: string) {
      if (!isTenantName(name)) {
        const problem = `must be ${tenantName.form}, but is ${quote(name)}`;
        throw inputError([{ field: 'name', problem }]);
      }
      const { weight = null, ...given } = requireValid(inputs.limits.check(values));
      const limits = { ...noLimits, ...given };
      return store.change(async (tx) => {
        const at = now();
        const before = await tx.plan(name);
        const plan: Plan = { name, limits, weight, created_at: before?.created_at ?? at, updated_at: at };
        await tx.putPlan(plan);
        const detail = { name, new: !before, ...limits, weight };
        await tx.audit({ at, actor, action: 'plan.put', tenant_id: null, key_id: null, detail });
        return { plan: viewPlan(plan), isNew: !before };
      });
    },

    /** Rejects with `conflict` where tenants refer to it. */
    deletePlan: (name: string, actor: string): Promise<PlanView> =>
      store.change(async (tx) => {
        const plan = await findPlan(tx, name);
        const tenants = await tx.tenantsOfPlan(name);
        if (tenants > 0) {
          const who = tenants === 1 ? 'one tenant refers' : `${tenants} tenants refer`;
          const message = `The plan ${quote(name)} is in use: ${who} to it. Give them another plan, or none, first.`;
          throw new GatewayError('conflict', { message });
        }
        await tx.deletePlan(name);
        const entry = { at: now(), actor, tenant_id: null, key_id: null, detail: { name } };
        await tx.audit({ ...entry, action: 'plan.delete' });
        return viewPlan(plan);
      }),
  };
}

async function findPlan(tx: KeyTransaction, name: string): Promise<Plan> {
  const plan = isTenantName(name) ? await tx.plan(name) : undefined;
  if (plan) return plan;
  throw new GatewayError('not_found', { message: `There is no plan named ${quote(name)}.` });
}
