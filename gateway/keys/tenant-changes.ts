import { quote } from '../../schemas/quote.js';
import { GatewayError, inputError, requireValid } from '../errors.js';
import { type DerivedSecrets, operatorReceiver } from '../signing/signing-secrets.js';
import type { AuditEntry } from './audit-text.js';
import type { KeyInputs, TenantChanges, Unchecked } from './inputs.js';
import {
  differences,
  iso,
  newTenant,
  originOf,
  randomBase62,
  type Tenant,
  type TenantLimits,
  type TenantView,
  viewTenant,
} from './model.js';
import { weightColumns } from './rows.js';
import { isTenantName } from './schemas.js';
import type { KeyStore, KeyTransaction } from './store.js';

export interface TenantParts {
  store: KeyStore;
  inputs: KeyInputs;
  now: () => number;
  defaults: TenantLimits;
  checkNoticeUrl: (url: string, field: string) => unknown;
}

export function createTenantChanges({ store, inputs, now, defaults, checkNoticeUrl }: TenantParts) {
  const view = (tenant: Tenant) => viewTenant(tenant, defaults);

  /** Writes what differs, with an entry for each kind of change; gives the tenant as it is then. */
  async function edit(name: string, changes: TenantChanges, actor: string): Promise<TenantView> {
    const { name: newName = name, state, external_id, note, notice_url, plan, weight, ...limits } = changes;
    if (notice_url) checkNoticeUrl(notice_url, 'notice_url');
    return store.change(async (tx) => {
      const tenant = await findTenant(tx, name);
      const at = now();
      const audit = (action: AuditEntry['action'], detail: AuditEntry['detail'] = {}) =>
        tx.audit({ at, actor, action, tenant_id: tenant.id, key_id: null, detail });

      if (newName !== name) {
        await requireFree(tx, newName);
        await tx.updateTenant(tenant.id, { name: newName });
        await audit('tenant.rename', { from: name, to: newName });
      }
      if (state === 'suspended' && tenant.suspended_at === null) {
        await tx.updateTenant(tenant.id, { suspended_at: at });
        await audit('tenant.suspend');
      }
      if (state === 'active' && tenant.suspended_at !== null) {
        await tx.updateTenant(tenant.id, { suspended_at: null });
        await audit('tenant.resume');
      }

      const before = {
        external_id: tenant.external_id,
        note: tenant.note,
        notice_url: tenant.notice_url,
        plan: tenant.plan?.name ?? null,
      };
      const edited = changedOf(before, { external_id, note, notice_url, plan });
      if (Object.keys(edited).length > 0) {
        if (plan) await requirePlan(tx, plan);
        await tx.updateTenant(tenant.id, edited);
        const detail = differences(before, { ...before, ...edited });
        if ('notice_url' in edited) {
          const [from, to] = [before, edited].map((each) => originOf(each.notice_url ?? null));
          detail.notice_url = { from, to };
        }
        await audit('tenant.edit', detail);
      }
      const limited = changedOf({ ...tenant.limits, weight: tenant.weight }, { ...limits, weight });
      const { weight: own = tenant.weight, ...values } = limited;
      if (Object.keys(limited).length > 0) await audit('tenant.limits', limited);
      if (Object.keys(limited).length > 0 || 'plan' in edited) {
        const planned = plan === undefined ? tenant.plan : plan === null ? null : await requirePlan(tx, plan);
        await tx.updateTenant(tenant.id, { ...values, ...weightColumns({ weight: own, plan: planned }) });
      }
      return view(await findTenant(tx, newName));
    });
  }

  return {
    async createTenant(wanted: string, actor: string): Promise<TenantView> {
      const { name } = requireValid(inputs.tenant.check({ name: wanted }));
      const tenant = await store.change(async (tx) => {
        await requireFree(tx, name);
        return addTenant(tx, name, actor, now());
      });
      return view(tenant);
    },

    /** All that may be changed of a tenant, at once or not at all. */
    editTenant: async (name: string, changes: Unchecked<TenantChanges>, actor: string) =>
      edit(name, requireValid(inputs.tenantChanges.check(changes)), actor),

    /** For good, with its keys, recipes, members and jobs; its name is free at once. What it has used stays on record. */
    deleteTenant: (name: string, actor: string) =>
      store.change(async (tx) => {
        const tenant = await findTenant(tx, name);
        const contents = await tx.contents(tenant.id);
        const at = now();
        await tx.deleteTenant(tenant, at);
        const detail = { name, ...contents };
        await tx.audit({ at, actor, action: 'tenant.delete', tenant_id: tenant.id, key_id: null, detail });
        return { id: tenant.id, name, deleted: contents };
      }),
  };
}

/** Those of the given values that differ from what is there. */
function changedOf<T extends object>(before: T, given: { [K in keyof T]?: T[K] | undefined }): Partial<T> {
  const changed = Object.entries(given).filter(
    ([name, value]) => value !== undefined && value !== before[name as keyof T],
  );
  return Object.fromEntries(changed) as Partial<T>;
}

async function requireFree(tx: KeyTransaction, name: string): Promise<void> {
  if (!(await tx.tenant(name))) return;
  throw new GatewayError('exists', { message: `A tenant named ${quote(name)} exists already.` });
}

/** A plan that a tenant is to refer to. */
async function requirePlan(tx: KeyTransaction, name: string) {
  const plan = await tx.plan(name);
  if (plan) return plan;
  throw inputError([{ field: 'plan', problem: `is ${quote(name)}, but there is no plan of this name` }]);
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
export function createWebhookChanges(
  { store, now, defaults }: Pick<TenantParts, 'store' | 'now' | 'defaults'>,
  secrets: DerivedSecrets,
) {
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
      const view = viewTenant(tenant, defaults);
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

    /** Shows what the operator's own notices are signed with, which is noted. */
    async noticesSecret(actor: string) {
      secrets.requireMaster();
      const entry = { at: now(), actor, tenant_id: null, key_id: null, detail: {} };
      await store.change((tx) => tx.audit({ ...entry, action: 'operator.notices_secret' }));
      return { webhook_secret: secrets.current(operatorReceiver, 1) };
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
