import { GatewayError } from '../errors.js';
import { isKeyId, isTenantName } from './checks.js';
import { createKeyChanges, type KeyChanges } from './key-changes.js';
import type { KeyStore } from './store.js';
import { createTenantChanges, noTenant, type TenantChanges } from './tenant-changes.js';
import { type AuditView, type KeyView, type TenantView, viewAudit, viewKey, viewTenant } from './views.js';

export interface KeyAdminOptions {
  store: KeyStore;
  /** The ids of all helpers, for checking scopes. */
  services: () => readonly string[];
  /** Wall clock, ms. */
  now?: () => number;
}

export interface Page<Cursor> {
  after?: Cursor | undefined;
  /** 1 to 1000, 100 by default. */
  limit?: number | undefined;
}

export interface AuditQuery {
  tenant?: string | undefined;
  key?: string | undefined;
  /** Only entries older than this id. */
  before?: number | undefined;
  limit?: number | undefined;
}

/**
 * Everything an operator does with tenants and keys, each change and its audit entry in one transaction. `actor` says who
 * it was, for the audit log, e.g. `cli:root`. What cannot be done rejects with a `GatewayError`: `invalid_input` with
 * the fields, `not_found`, `exists`, `keys_unavailable`.
 */
export interface KeyAdmin extends TenantChanges, KeyChanges {
  /** By name; `next` is the cursor of the next page, or null. */
  listTenants(page?: Page<string>): Promise<{ tenants: TenantView[]; next: string | null }>;
  tenant(name: string): Promise<TenantView>;
  /** Oldest first. */
  listKeys(tenant: string, page?: Page<string>): Promise<{ keys: KeyView[]; next: string | null }>;
  /** Newest first; `next` goes into `before`. */
  audit(query?: AuditQuery): Promise<{ entries: AuditView[]; next: number | null }>;
}

export function createKeyAdmin({ store, services, now = Date.now }: KeyAdminOptions): KeyAdmin {
  async function existing(name: string) {
    const tenant = isTenantName(name) ? await store.tenant(name) : undefined;
    if (!tenant) throw noTenant(name);
    return tenant;
  }

  return {
    ...createTenantChanges(store, now),
    ...createKeyChanges(store, services, now),
    async listTenants({ after, limit } = {}) {
      const size = pageSize(limit);
      checkCursor(after, isTenantName);
      const tenants = await store.tenants({ after, limit: size + 1 });
      const { page, last } = cut(tenants, size);
      return { tenants: page.map(viewTenant), next: last?.name ?? null };
    },
    async tenant(name) {
      return viewTenant(await existing(name));
    },
    async listKeys(name, { after, limit } = {}) {
      const { id } = await existing(name);
      const size = pageSize(limit);
      checkCursor(after, isKeyId);
      const { page, last } = cut(await store.keys(id, { after, limit: size + 1 }), size);
      return { keys: page.map((key) => viewKey(key, now())), next: last?.id ?? null };
    },
    async audit({ tenant, key, before, limit } = {}) {
      const tenant_id = tenant === undefined ? undefined : (await existing(tenant)).id;
      const size = pageSize(limit);
      if (key !== undefined && !isKeyId(key)) return { entries: [], next: null };
      const entries = await store.audit({ tenant_id, key_id: key, before, limit: size + 1 });
      const { page, last } = cut(entries, size);
      return { entries: page.map(viewAudit), next: last?.id ?? null };
    },
  };
}

function pageSize(limit: number | undefined): number {
  return Math.min(1000, Math.max(1, Math.trunc(limit ?? 100)));
}

function checkCursor(after: unknown, fits: (value: unknown) => boolean): void {
  if (after === undefined || fits(after)) return;
  const problem = 'is not the next of an earlier page';
  throw new GatewayError('invalid_input', { details: [{ field: 'after', problem }] });
}

/** One more than a page was asked for; `last` is there where a next page is. */
function cut<T>(items: T[], size: number): { page: T[]; last: T | undefined } {
  const page = items.slice(0, size);
  return { page, last: items.length > size ? page.at(-1) : undefined };
}
