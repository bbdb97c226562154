import type { DerivedSecrets } from '../signing/derived-secrets.js';
import type { KeyStore } from './store.js';
import { findTenant } from './tenant-changes.js';
import { isoOrNull, type TenantView, viewTenant } from './views.js';

/** How long webhooks are signed with the secret before as well, so that receivers can change over. */
export const webhookGraceMs = 86_400_000;

export interface WebhookSecret {
  tenant: string;
  webhook_secret: string;
  /** Until when webhooks are signed with the secret before it as well; null where there is none, or that time is over. */
  previous_until: string | null;
}

/** A tenant with the secret of its webhooks; null with a hint where this gateway has no master secret. */
export type SecretTenantView = TenantView &
  ({ webhook_secret: string } | { webhook_secret: null; webhook_hint: string });

/** What rejects where the gateway has no master secret is `storage_unavailable`, and names HELPER_SIGNING_SECRET. */
export interface WebhookChanges {
  /**
   * For the operator's programs, which read a tenant often: nothing is noted. An entry a look would fill a log that is never cleared,
   * and there would be no looking where the database cannot be written.
   */
  tenantWithSecret(name: string): Promise<SecretTenantView>;
  /** Shows what a tenant's webhooks are signed with, which is noted. */
  webhookSecret(name: string, actor: string): Promise<WebhookSecret>;
  /** Gives it another. For a day both sign; a second change within it ends the grace of the one before. */
  rotateWebhookSecret(name: string, actor: string): Promise<WebhookSecret>;
}

export function createWebhookChanges(
  store: KeyStore,
  secrets: DerivedSecrets,
  now: () => number,
): WebhookChanges {
  return {
    async tenantWithSecret(name) {
      const tenant = await findTenant(store, name);
      const view = viewTenant(tenant);
      return secrets.available
        ? { ...view, webhook_secret: secrets.current(tenant.id, tenant.webhook_version) }
        : { ...view, webhook_secret: null, webhook_hint: hint };
    },

    async webhookSecret(name, actor) {
      secrets.requireMaster();
      return store.change(async (tx) => {
        const tenant = await findTenant(tx, name);
        const { id, webhook_version, webhook_rotated_at } = tenant;
        const at = now();
        const action = 'tenant.webhook_secret';
        await tx.audit({ at, actor, action, tenant_id: id, key_id: null, detail: {} });
        const end = graceEnd(webhook_rotated_at);
        return {
          tenant: name,
          webhook_secret: secrets.current(id, webhook_version),
          previous_until: isoOrNull(end !== null && end > at ? end : null),
        };
      });
    },

    async rotateWebhookSecret(name, actor) {
      secrets.requireMaster();
      return store.change(async (tx) => {
        const { id, webhook_version: before } = await findTenant(tx, name);
        const at = now();
        const webhook_version = before + 1;
        await tx.setWebhookVersion({ id, webhook_version, webhook_rotated_at: at });
        const action = 'tenant.rotate_webhook_secret';
        await tx.audit({ at, actor, action, tenant_id: id, key_id: null, detail: { webhook_version } });
        return {
          tenant: name,
          webhook_secret: secrets.current(id, webhook_version),
          previous_until: isoOrNull(graceEnd(at)),
        };
      });
    },
  };
}

const hint =
  'This gateway sends no webhooks: with DATABASE_URL, set HELPER_SIGNING_SECRET to the same on all gateways.';

function graceEnd(rotatedAt: number | null): number | null {
  return rotatedAt === null ? null : rotatedAt + webhookGraceMs;
}
