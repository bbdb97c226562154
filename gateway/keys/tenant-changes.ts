import { GatewayError } from '../errors.js';
import { randomBase62 } from './base62.js';
import { checkName, checkNumber, InputChecks, isTenantName, LIMIT_BOUNDS, shown } from './checks.js';
import type { Tenant, TenantLimits } from './model.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { type TenantView, viewTenant } from './views.js';

/** What is to change; what is left out stays, null goes back to the default. */
export type LimitChanges = Partial<TenantLimits> & { weight?: number | null };

export interface TenantChanges {
  createTenant(name: string, actor: string): Promise<TenantView>;
  setLimits(tenant: string, changes: LimitChanges, actor: string): Promise<TenantView>;
}

const DEFAULT_WEIGHT = 1;
const NO_LIMITS: TenantLimits = { rate: null, burst: null, monthly_quota: null, in_flight: null };

export function createTenantChanges(store: KeyStore, now: () => number): TenantChanges {
  return {
    async createTenant(name, actor) {
      const checks = new InputChecks();
      const checked = checks.take('name', checkName(name), '');
      checks.finish();
      const tenant = await store.change(async (tx) => {
        if (await tx.tenant(checked)) {
          throw new GatewayError('exists', { message: `A tenant named ${shown(checked)} exists already.` });
        }
        return addTenant(tx, checked, actor, now());
      });
      return viewTenant(tenant);
    },
    async setLimits(name, changes, actor) {
      const given = checkLimits(changes);
      const tenant = await store.change(async (tx) => {
        const found = isTenantName(name) ? await tx.tenant(name) : undefined;
        if (!found) throw noTenant(name);
        const { weight = found.weight, ...limits } = given;
        const changed: Tenant = { ...found, limits: { ...found.limits, ...limits }, weight };
        await tx.setLimits(changed);
        await tx.audit({
          at: now(),
          actor,
          action: 'tenant.limits',
          tenant_id: found.id,
          key_id: null,
          detail: given,
        });
        return changed;
      });
      return viewTenant(tenant);
    },
  };
}

/** Adds a tenant, whose name is free, with its audit entry. */
export async function addTenant(
  tx: KeyTransaction,
  name: string,
  actor: string,
  at: number,
): Promise<Tenant> {
  const id = `ten_${randomBase62(12)}`;
  const tenant: Tenant = { id, name, created_at: at, limits: NO_LIMITS, weight: DEFAULT_WEIGHT };
  await tx.addTenant(tenant);
  await tx.audit({ at, actor, action: 'tenant.create', tenant_id: id, key_id: null, detail: { name } });
  return tenant;
}

export function noTenant(name: string): GatewayError {
  return new GatewayError('not_found', { message: `There is no tenant named ${shown(name)}.` });
}

function checkLimits(changes: LimitChanges): Partial<TenantLimits> & { weight?: number } {
  const checks = new InputChecks();
  const given: Partial<TenantLimits> & { weight?: number } = {};
  for (const [field, bounds] of Object.entries(LIMIT_BOUNDS)) {
    const limit = field as keyof TenantLimits;
    if (changes[limit] !== undefined) {
      given[limit] = checks.take(limit, checkNumber(changes[limit], bounds), null);
    }
  }
  if (changes.weight !== undefined) {
    const bounds = { min: 1, max: 100, integer: true };
    given.weight = checks.take('weight', checkNumber(changes.weight, bounds), null) ?? DEFAULT_WEIGHT;
  }
  checks.finish();
  return given;
}
