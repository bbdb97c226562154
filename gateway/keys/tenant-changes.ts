import { quote } from '../../schemas/quote.js';
import { GatewayError, requireValid } from '../errors.js';
import { randomBase62 } from './base62.js';
import { isTenantName } from './checks.js';
import type { KeyInputs, LimitChanges, Unjudged } from './inputs.js';
import type { Tenant, TenantLimits } from './model.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { type TenantView, viewTenant } from './views.js';

export interface TenantChanges {
  createTenant(name: string, actor: string): Promise<TenantView>;
  setLimits(tenant: string, changes: Unjudged<LimitChanges>, actor: string): Promise<TenantView>;
}

/** Of a tenant that nobody has weighed. */
export const defaultWeight = 1;
/** Of the secret of its webhooks. */
const firstVersion = 1;
const noLimits: TenantLimits = { rate: null, burst: null, monthly_quota: null, in_flight: null };

export function createTenantChanges(
  store: KeyStore,
  inputs: Pick<KeyInputs, 'tenant' | 'limits'>,
  now: () => number,
): TenantChanges {
  return {
    async createTenant(wanted, actor) {
      const { name } = requireValid(inputs.tenant.check({ name: wanted }));
      const tenant = await store.change(async (tx) => {
        if (await tx.tenant(name)) {
          throw new GatewayError('exists', { message: `A tenant named ${quote(name)} exists already.` });
        }
        return addTenant(tx, name, actor, now());
      });
      return viewTenant(tenant);
    },
    async setLimits(name, changes, actor) {
      const given = requireValid(inputs.limits.check(changes));
      const tenant = await store.change(async (tx) => {
        const found = await findTenant(tx, name);
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
  const tenant: Tenant = {
    id,
    name,
    created_at: at,
    limits: noLimits,
    weight: defaultWeight,
    webhook_version: firstVersion,
    webhook_rotated_at: null,
  };
  await tx.addTenant(tenant);
  await tx.audit({ at, actor, action: 'tenant.create', tenant_id: id, key_id: null, detail: { name } });
  return tenant;
}

/** The tenant of this name; rejects with `not_found` where there is none. */
export async function findTenant(reads: Pick<KeyTransaction, 'tenant'>, name: string): Promise<Tenant> {
  const tenant = isTenantName(name) ? await reads.tenant(name) : undefined;
  if (tenant) return tenant;
  throw new GatewayError('not_found', { message: `There is no tenant named ${quote(name)}.` });
}
