import { requireValid } from '../errors.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import {
  type AuditQuery,
  createKeyInputs,
  type KeyInputs,
  type PageQuery,
  type Unchecked,
} from './inputs.js';
import {
  createKeyChanges,
  createSigningChanges,
  findKey,
  type KeyChanges,
  type SigningChanges,
} from './key-changes.js';
import { type AuditView, type KeyView, type TenantView, viewAudit, viewKey, viewTenant } from './model.js';
import type { KeyStore } from './store.js';
import {
  createTenantChanges,
  createWebhookChanges,
  findTenant,
  type TenantChanges,
  type WebhookChanges,
} from './tenant-changes.js';

export interface KeyAdminOptions {
  store: KeyStore;
  /** The ids of all helpers, for checking scopes. */
  services: () => readonly string[];
  /** What signs urls and webhooks. */
  signing: SigningSecrets;
  /** Wall clock, ms. */
  now?: () => number;
}

/**
 * Everything an operator does with tenants and keys, each change and its audit entry in one transaction. `actor` says who
 * it was, for the audit log, e.g. `cli:root`. What cannot be done rejects with a `GatewayError`: `invalid_input` with
 * the fields, `not_found`, `exists`, `keys_unavailable`.
 */
export interface KeyAdmin extends TenantChanges, KeyChanges, SigningChanges, WebhookChanges {
  /** By what it judges: for whoever documents it, or wants to say more at once. */
  readonly inputs: KeyInputs;
  /** By name; `next` is the cursor of the next page, or null. */
  listTenants(page?: PageQuery): Promise<{ tenants: TenantView[]; next: string | null }>;
  tenant(name: string): Promise<TenantView>;
  /** Oldest first. */
  listKeys(tenant: string, page?: PageQuery): Promise<{ keys: KeyView[]; next: string | null }>;
  key(id: string): Promise<KeyView>;
  /** Newest first; `next` goes into `before`. */
  audit(query?: Unchecked<AuditQuery>): Promise<{ entries: AuditView[]; next: number | null }>;
}

export function createKeyAdmin({ store, services, signing, now = Date.now }: KeyAdminOptions): KeyAdmin {
  const inputs = createKeyInputs({ services, now });

  return {
    inputs,
    ...createTenantChanges(store, inputs, now),
    ...createKeyChanges(store, inputs, signing, now),
    ...createSigningChanges(store, signing, now),
    ...createWebhookChanges(store, signing.webhooks, now),
    async listTenants(query = {}) {
      const { after, limit } = requireValid(inputs.tenantPage.check(query));
      const { page, last } = cutPage(await store.tenants({ after, limit: limit + 1 }), limit);
      return { tenants: page.map(viewTenant), next: last?.name ?? null };
    },
    async tenant(name) {
      return viewTenant(await findTenant(store, name));
    },
    async listKeys(name, query = {}) {
      const { id } = await findTenant(store, name);
      const { after, limit } = requireValid(inputs.keyPage.check(query));
      const { page, last } = cutPage(await store.keys(id, { after, limit: limit + 1 }), limit);
      return { keys: page.map((key) => viewKey(key, now())), next: last?.id ?? null };
    },
    async key(id) {
      return viewKey(await findKey(store, id), now());
    },
    async audit(query = {}) {
      const { tenant, key, before, limit } = requireValid(inputs.audit.check(query));
      const tenant_id = tenant === undefined ? undefined : (await findTenant(store, tenant)).id;
      const entries = await store.audit({ tenant_id, key_id: key, before, limit: limit + 1 });
      const { page, last } = cutPage(entries, limit);
      return { entries: page.map(viewAudit), next: last?.id ?? null };
    },
  };
}

/** One more than a page was asked for; `last` is there where a next page is. */
function cutPage<T>(items: T[], size: number): { page: T[]; last: T | undefined } {
  const page = items.slice(0, size);
  return { page, last: items.length > size ? page.at(-1) : undefined };
}
