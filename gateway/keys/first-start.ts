import { addKey } from './key-changes.js';
import { createKey } from './key-format.js';
import type { KeyStore } from './store.js';
import { addTenant } from './tenant-changes.js';

/** The name of the first tenant. */
export const firstTenant = 'demo';

export interface FirstKey {
  tenant: string;
  /** The key's public id. */
  id: string;
  /** The key itself: to be printed now, it is kept nowhere. */
  key: string;
}

/**
 * Makes the tenant `demo` with one key for every helper where there is no tenant at all; otherwise returns undefined. Of
 * several gateways that start at once on one database, one does it.
 */
export async function createFirstTenant(
  store: KeyStore,
  now: () => number = Date.now,
): Promise<FirstKey | undefined> {
  const key = createKey();
  return store.change(async (tx) => {
    if (await tx.hasTenants()) return undefined;
    const { id: tenant_id, name } = await addTenant(tx, firstTenant, 'first start', now());
    const given = { tenant_id, label: 'first key', scopes: null, expires_at: null };
    return { tenant: name, id: await addKey(tx, given, key, 'first start', now()), key };
  });
}
