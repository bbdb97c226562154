import { checkUrl, parseExemptOrigins } from '../download/url.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import { createKeyInputs } from './inputs.js';
import { addKey, createKeyChanges } from './key-changes.js';
import { createKeyReads } from './key-reads.js';
import { createKey, noLimits, type TenantLimits } from './model.js';
import { createPlanChanges } from './plans.js';
import { type CheckRecipe, createRecipeChanges } from './recipe-changes.js';
import type { KeyStore } from './store.js';
import { addTenant, createTenantChanges, createWebhookChanges } from './tenant-changes.js';

interface KeyAdminOptions {
  store: KeyStore;
  /** The ids of all helpers, for checking scopes. */
  services: () => readonly string[];
  signing: SigningSecrets;
  /** Checks the definitions of recipes. */
  compileRecipe: CheckRecipe;
  /** What holds for tenants of which neither they nor their plans say anything. */
  defaults?: TenantLimits | undefined;
  /** Checks where notices go, without any I/O: throws for what this gateway would not send to. */
  checkNoticeUrl?: (url: string, field: string) => unknown;
  /** Wall clock, ms. */
  now?: () => number;
}

/** What the configuration says to the administration of keys. */
export function adminSettings(config: {
  rate: number;
  burst: number;
  monthlyQuota?: number | undefined;
  inFlight?: number | undefined;
  monthlyCpuMs?: number | undefined;
  webhookOrigins: readonly string[];
}) {
  const origins = parseExemptOrigins(config.webhookOrigins);
  const defaults: TenantLimits = {
    rate: config.rate,
    burst: config.burst,
    monthly_quota: config.monthlyQuota ?? null,
    in_flight: config.inFlight ?? null,
    monthly_cpu_ms: config.monthlyCpuMs ?? null,
  };
  return { defaults, checkNoticeUrl: (url: string, field: string) => checkUrl(url, origins, field) };
}

export type KeyAdmin = ReturnType<typeof createKeyAdmin>;

/** Changes of tenants and keys, each in one transaction with its audit entry; `actor` made it, e.g. `cli:root`. */
export function createKeyAdmin(options: KeyAdminOptions) {
  const { store, services, signing, compileRecipe, now = Date.now } = options;
  const { defaults = noLimits, checkNoticeUrl = (url, field) => checkUrl(url, new Set(), field) } = options;
  const inputs = createKeyInputs(services, now);
  const parts = { store, inputs, now, defaults, checkNoticeUrl };

  return {
    /** The checks of all inputs. */
    inputs,
    checkNoticeUrl,
    ...createKeyReads(parts),
    ...createTenantChanges(parts),
    ...createPlanChanges(store, inputs, now),
    ...createKeyChanges(store, inputs, signing, now),
    ...createRecipeChanges(store, compileRecipe, now),
    ...createWebhookChanges(parts, signing.webhooks),
  };
}

/** The name of the first tenant. */
export const firstTenant = 'demo';

/** With the key itself: to be printed now, it is stored nowhere. */
type FirstKey = Record<'tenant' | 'id' | 'key', string>;

/** Makes the tenant `demo` with one key where there has been no tenant yet; of several gateways that start, one does it. */
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
