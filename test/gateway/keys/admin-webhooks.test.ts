import { expect } from 'chai';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { type OpenedStore, onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';

const hour = 3_600_000;

describe('keys/admin, of webhooks', () =>
  onEachDatabase((database) => {
    let store: OpenedStore;
    let admin: KeyAdmin;
    let id: string;
    let now: number;
    beforeEach(async () => {
      now = Date.UTC(2030, 0, 1);
      store = await database().open();
      admin = createKeyAdmin({ store, signing, services: () => [], now: () => now });
      ({ id } = await admin.createTenant('acme', 'ann'));
    });
    const actions = async () =>
      (await admin.audit()).entries.map(({ actor, action, detail }) => [actor, action, detail]);

    it('shows the secret, which is noted', async () => {
      expect(await admin.webhookSecret('acme', 'bob')).to.deep.equal({
        tenant: 'acme',
        webhook_secret: signing.webhooks.current(id, 1),
        previous_until: null,
      });
      expect((await actions())[0]).to.deep.equal(['bob', 'tenant.webhook_secret', {}]);
    });

    it('shows it with the tenant, which is not, and never in a list', async () => {
      const tenant = await admin.tenantWithSecret('acme');
      expect(tenant).to.deep.equal({
        ...(await admin.tenant('acme')),
        webhook_secret: signing.webhooks.current(id, 1),
      });
      expect(await actions()).to.have.length(1);
      const others = [await admin.listTenants(), await admin.setLimits('acme', { rate: 1 }, 'ann')];
      expect(JSON.stringify(others)).not.to.match(/webhook|whsec_/);
    });

    it('replaces it, and says until when the one before signs as well', async () => {
      expect(await admin.rotateWebhookSecret('acme', 'bob')).to.deep.equal({
        tenant: 'acme',
        webhook_secret: signing.webhooks.current(id, 2),
        previous_until: new Date(now + 24 * hour).toISOString(),
      });
      expect(await store.tenant('acme')).to.include({ webhook_version: 2, webhook_rotated_at: now });
      expect((await actions())[0]).to.deep.equal([
        'bob',
        'tenant.rotate_webhook_secret',
        { webhook_version: 2 },
      ]);
      now += 24 * hour - 1;
      expect((await admin.webhookSecret('acme', 'bob')).previous_until).to.be.a('string');
      now += 1;
      expect((await admin.webhookSecret('acme', 'bob')).previous_until).to.equal(null);
    });

    it('keeps nothing of it: the database alone forges nothing', async () => {
      const { webhook_secret } = await admin.rotateWebhookSecret('acme', 'bob');
      const everything = JSON.stringify([await store.tenant('acme'), await store.audit({ limit: 100 })]);
      expect(everything).not.to.include(webhook_secret.slice(6, 20));
    });

    it('has none of a tenant that is not there', async () => {
      for (const way of [
        admin.webhookSecret('globex', 'ann'),
        admin.rotateWebhookSecret('globex', 'ann'),
        admin.tenantWithSecret('globex'),
      ])
        expect(await rejection(way)).to.include({ code: 'not_found' });
    });

    it('names the variable where there is no master secret, and shows the tenant all the same', async () => {
      const none = createKeyAdmin({ store, signing: createSigningSecrets(undefined), services: () => [] });
      for (const way of [none.webhookSecret('acme', 'ann'), none.rotateWebhookSecret('acme', 'ann')]) {
        const error = (await rejection(way)) as Error;
        expect(error).to.include({ code: 'storage_unavailable' });
        expect(error.message).to.include('HELPER_SIGNING_SECRET');
      }
      const shown = await none.tenantWithSecret('acme');
      expect(shown).to.include({ name: 'acme', webhook_secret: null });
      expect(shown).to.have.property('webhook_hint').that.includes('HELPER_SIGNING_SECRET');
      expect(await actions()).to.have.length(1);
    });
  }));
