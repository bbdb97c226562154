import { GatewayError, requireValid } from '../errors.js';
import { auditText } from './audit-text.js';
import { findKey } from './key-changes.js';
import type { TenantList } from './lists.js';
import { iso, isoOrNull, type KeyView, parseKey, type TenantView, viewKey, viewTenant } from './model.js';
import { findTenant, type TenantParts } from './tenant-changes.js';

const dayMs = 86_400_000;

/** A query as a caller sent it, before it is checked. */
type Query = Readonly<Record<string, unknown>>;

type Reads = ReturnType<typeof createKeyReads>;
export type LimitUse = Awaited<ReturnType<Reads['limitUse']>>;
export type AuditView = Awaited<ReturnType<Reads['audit']>>['entries'][number];
export type ListedTenant = Awaited<ReturnType<Reads['listTenants']>>['tenants'][number];

/** What people and programs read of tenants and keys. */
export function createKeyReads({ store, inputs, now, defaults }: TenantParts) {
  async function readKeys(
    { tenant, ...query }: ReturnType<typeof inputs.keySearch.check>['value'],
    standard: 'asc' | 'desc',
  ) {
    const tenant_id = tenant === undefined ? undefined : (await findTenant(store, tenant)).id;
    const at = now();
    const order = query.order ?? (query.sort === 'created_at' ? standard : orderOf(query.sort));
    const { rows, previous, next } = await store.keys({ ...query, tenant_id, order, now: at });
    return { keys: rows.map((key) => viewKey(key, at)), previous, next };
  }

  return {
    /** By name unless the query says otherwise, with figures of the last days. `previous` and `next` are cursors, or null. */
    async listTenants(query: Query = {}) {
      const { days, order, ...list } = requireValid(inputs.tenantList.check(query));
      const since = iso(now() - (days - 1) * dayMs).slice(0, 10);
      const found = await store.tenants({ ...list, since, order: order ?? orderOf(list.sort) });
      const { rows, previous, next } = found;
      const tenants = rows.map(({ tenant, figures }) => ({
        ...viewTenant(tenant, defaults),
        ...figures,
        last_used_at: isoOrNull(figures.last_used_at),
      }));
      return { tenants, previous, next };
    },

    tenant: async (name: string) => viewTenant(await findTenant(store, name), defaults),

    /** How much of each kind a tenant has, before it is deleted. */
    contents: async (name: string) => store.contents((await findTenant(store, name)).id),

    /**
     * What counts against a tenant's or key's limits in this month (UTC), some seconds behind. Null where it is not counted: calls without
     * a quota, and a key's CPU without a budget.
     */
    async limitUse(of: TenantView | KeyView) {
      const { id } = of;
      const used = await store.used([id, `${id} cpu`], iso(now()).slice(0, 7));
      const isTenant = 'in_force' in of;
      const quota = isTenant ? of.in_force.monthly_quota.value : of.limits.monthly_quota;
      const cpuMs = Math.round((used.get(`${id} cpu`) ?? 0) / 1000);
      return {
        calls: quota === null ? null : (used.get(id) ?? 0),
        cpu_ms: isTenant || of.limits.monthly_cpu_ms !== null ? cpuMs : null,
      };
    },

    /** Those of a tenant: all of them, oldest first, unless the query says otherwise. */
    async listKeys(tenant: string, query: Query = {}) {
      const { state = 'all', ...list } = requireValid(inputs.keyList.check(query));
      return readKeys({ ...list, state, tenant }, 'asc');
    },

    /** Over all tenants: those that are not revoked, newest first, unless the query says otherwise. */
    searchKeys: async (query: Query = {}) => readKeys(requireValid(inputs.keySearch.check(query)), 'desc'),

    /** The log in words, newest first; `next` is the `before` of the next page, `previous` the `after` of the one before. */
    async audit(query: object = {}) {
      const { tenant, key, limit, ...filters } = requireValid(inputs.audit.check(query));
      const tenant_id = tenant === undefined ? undefined : (await findTenant(store, tenant)).id;
      const found = await store.audit({ ...filters, tenant_id, key_id: key, limit: limit + 1 });
      const isMore = found.length > limit;
      const forward = filters.after === undefined;
      const page = isMore ? (forward ? found.slice(0, limit) : found.slice(1)) : found;
      const tenants = await store.tenantNames(page.flatMap(({ tenant_id }) => tenant_id ?? []));
      const labels = await store.keyLabels(page.flatMap(({ key_id }) => key_id ?? []));
      const entries = page.map((entry) => {
        const tenant = tenants.get(entry.tenant_id ?? '') ?? null;
        const label = labels.get(entry.key_id ?? '') ?? null;
        return { ...entry, at: iso(entry.at), tenant, text: auditText(entry, { tenant, label }) };
      });
      return {
        entries,
        next: isMore || !forward ? (page.at(-1)?.id ?? null) : null,
        previous: (forward ? filters.before !== undefined : isMore) ? (page[0]?.id ?? null) : null,
      };
    },

    key: async (id: string): Promise<KeyView> => viewKey(await findKey(store, id), now()),

    /** The key that this whole secret belongs to, current or an earlier one. */
    async findKey(input: Query): Promise<KeyView> {
      const { key } = requireValid(inputs.secret.check(input));
      const digest = parseKey(key.trim());
      const [found] = digest ? await store.find([digest.hash]) : [];
      const row = found && (await store.key(found.key.id));
      if (row) return viewKey(row, now());
      const message = digest
        ? 'No key of this gateway has this secret.'
        : 'This is no key: one begins with hg_ and has 36 characters.';
      throw new GatewayError('not_found', { message });
    },
  };
}

function orderOf(sort: TenantList['sort'] | 'label' | 'tenant' | 'expires_at'): 'asc' | 'desc' {
  return ['name', 'label', 'tenant'].includes(sort) ? 'asc' : 'desc';
}
