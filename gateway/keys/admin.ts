import { requireValid } from '../errors.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import { type AuditQuery, createKeyInputs, type PageQuery, type Unchecked } from './inputs.js';
import { createKeyChanges, findKey } from './key-changes.js';
import { type KeyView, type TenantView, viewAudit, viewKey, viewTenant } from './model.js';
import type { KeyStore } from './store.js';
import { createTenantChanges, createWebhookChanges, findTenant } from './tenant-changes.js';

export interface KeyAdminOptions {
  store: KeyStore;
  /** The ids of all helpers, for checking scopes. */
  services: () => readonly string[];
  /** What signs urls and webhooks. */
  signing: SigningSecrets;
  /** Wall clock, ms. */
  now?: () => number;
}

export type KeyAdmin = ReturnType<typeof createKeyAdmin>;

/**
 * Everything an operator does with tenants and keys, each change and its audit entry in one transaction. `actor` says who
 * it was, for the audit log, e.g. `cli:root`. What cannot be done rejects with a `GatewayError`: `invalid_input` with
 * the fields, `not_found`, `exists`, `keys_unavailable`.
 */
export function createKeyAdmin({ store, services, signing, now = Date.now }: KeyAdminOptions) {
  const inputs = createKeyInputs({ services, now });

  return {
    /** The checks of all inputs: for documentation, or to find more problems at once. */
    inputs,
    ...createTenantChanges(store, inputs, now),
    ...createKeyChanges(store, inputs, signing, now),
    ...createWebhookChanges(store, signing.webhooks, now),
    /** By name; `next` is the cursor of the next page, or null. */
    async listTenants(query: PageQuery = {}) {
      const { after, limit } = requireValid(inputs.tenantPage.check(query));
      const { page, last } = cutPage(await store.tenants({ after, limit: limit + 1 }), limit);
      return { tenants: page.map(viewTenant), next: last?.name ?? null };
    },
    async tenant(name: string): Promise<TenantView> {
      return viewTenant(await findTenant(store, name));
    },
    /** Oldest first. */
    async listKeys(tenant: string, query: PageQuery = {}) {
      const { id } = await findTenant(store, tenant);
      const { after, limit } = requireValid(inputs.keyPage.check(query));
      const { page, last } = cutPage(await store.keys(id, { after, limit: limit + 1 }), limit);
      return { keys: page.map((key) => viewKey(key, now())), next: last?.id ?? null };
    },
    async key(id: string): Promise<KeyView> {
      return viewKey(await findKey(store, id), now());
    },
    /** Newest first; `next` is the `before` of the next page. */
    async audit(query: Unchecked<AuditQuery> = {}) {
      const { tenant, key, before, limit } = requireValid(inputs.audit.check(query));
      const tenant_id = tenant === undefined ? undefined : (await findTenant(store, tenant)).id;
      const entries = await store.audit({ tenant_id, key_id: key, before, limit: limit + 1 });
      const { page, last } = cutPage(entries, limit);
      return { entries: page.map(viewAudit), next: last?.id ?? null };
    },
  };
}

/** One item more than a page was read; `last` is undefined on the last page. */
function cutPage<T>(items: T[], size: number): { page: T[]; last: T | undefined } {
  const page = items.slice(0, size);
  return { page, last: items.length > size ? page.at(-1) : undefined };
}
