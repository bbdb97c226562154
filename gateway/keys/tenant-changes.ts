import { quote } from '../../schemas/quote.js';
import { GatewayError, requireValid } from '../errors.js';
import type { DerivedSecrets } from '../signing/signing-secrets.js';
import type { KeyInputs, LimitChanges, Unchecked } from './inputs.js';
import { iso, newTenant, randomBase62, type Tenant, type TenantView, viewTenant } from './model.js';
import { isTenantName } from './schemas.js';
import { type KeyStore, type KeyTransaction, weightColumns } from './store.js';

export function createTenantChanges(store: KeyStore, inputs: KeyInputs, now: () => number) {
  return {
    async createTenant(wanted: string, actor: string): Promise<TenantView> {
      const { name } = requireValid(inputs.tenant.check({ name: wanted }));
      const tenant = await store.change(async (tx) => {
        if (await tx.tenant(name)) {
          throw new GatewayError('exists', { message: `A tenant named ${quote(name)} exists already.` });
        }
        return addTenant(tx, name, actor, now());
      });
      return viewTenant(tenant);
    },
    async setLimits(name: string, changes: Unchecked<LimitChanges>, actor: string): Promise<TenantView> {
      const given = requireValid(inputs.limits.check(changes));
      const tenant = await store.change(async (tx) => {
        const found = await findTenant(tx, name);
        const { weight = found.weight, ...limits } = given;
        const changed: Tenant = { ...found, limits: { ...found.limits, ...limits }, weight };
        await tx.updateTenant(found.id, { ...changed.limits, ...weightColumns(changed) });
        const entry = { at: now(), actor, tenant_id: found.id, key_id: null, detail: given };
        await tx.audit({ ...entry, action: 'tenant.limits' });
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
  const tenant: Tenant = { id, name, created_at: at, ...newTenant };
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

/** How long webhooks are signed with the previous secret as well, so that receivers can change over. */
export const webhookGraceMs = 86_400_000;

const webhookHint =
  'This gateway sends no webhooks: with DATABASE_URL, set HELPER_SIGNING_SECRET to the same on all gateways.';

/** Without a master secret these reject with `storage_unavailable`, which names HELPER_SIGNING_SECRET. */
export function createWebhookChanges(store: KeyStore, secrets: DerivedSecrets, now: () => number) {
  /** The secret with the end of the grace of the one before it; null where there is none, or it is over. */
  function shown({ id, name, webhook_version, webhook_rotated_at }: Tenant, at: number) {
    const end = (webhook_rotated_at ?? Number.NEGATIVE_INFINITY) + webhookGraceMs;
    return {
      tenant: name,
      webhook_secret: secrets.current(id, webhook_version),
      previous_until: end > at ? iso(end) : null,
    };
  }

  return {
    /** For programs, which read it often; not audited: entries are never cleared, and reading must not need a write. */
    async tenantWithSecret(name: string) {
      const tenant = await findTenant(store, name);
      const view = viewTenant(tenant);
      return secrets.available
        ? { ...view, webhook_secret: secrets.current(tenant.id, tenant.webhook_version) }
        : { ...view, webhook_secret: null, webhook_hint: webhookHint };
    },

    /** Shows what a tenant's webhooks are signed with, which is noted. */
    async webhookSecret(name: string, actor: string) {
      secrets.requireMaster();
      return store.change(async (tx) => {
        const tenant = await findTenant(tx, name);
        const entry = { at: now(), actor, tenant_id: tenant.id, key_id: null, detail: {} };
        await tx.audit({ ...entry, action: 'tenant.webhook_secret' });
        return shown(tenant, entry.at);
      });
    },

    /** Replaces it. For a day both sign; a second change within it ends the grace of the one before. */
    async rotateWebhookSecret(name: string, actor: string) {
      secrets.requireMaster();
      return store.change(async (tx) => {
        const before = await findTenant(tx, name);
        const at = now();
        const webhook_version = before.webhook_version + 1;
        const tenant = { ...before, webhook_version, webhook_rotated_at: at };
        await tx.updateTenant(tenant.id, { webhook_version, webhook_rotated_at: at });
        const entry = { at, actor, tenant_id: tenant.id, key_id: null, detail: { webhook_version } };
        await tx.audit({ ...entry, action: 'tenant.rotate_webhook_secret' });
        return shown(tenant, at);
      });
    },
  };
}
