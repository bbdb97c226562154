import { expect } from 'chai';
import { createKeyAdmin } from '../../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase } from '../../databases.js';
import { signing } from '../../signing/signing.js';
import { openTestSite, type TestSite } from '../test-site.js';
import { createApiClient, problems } from './api-client.js';

describe('site/api: the secret of webhooks', () => {
  let site: TestSite;
  let id: string;
  before(async () => {
    site = await openTestSite();
    ({ id } = await site.admin.createTenant('acme', 'test'));
  });
  after(() => site.close());
  const call = createApiClient(() => site);

  it('stands with the tenant alone, and is replaced', async () => {
    const path = '/api/tenants/acme';
    expect((await call('GET', path)).json.data.webhook_secret).to.equal(signing.webhooks.current(id, 1));
    const rotated = (await call('POST', `${path}/rotate-webhook-secret`)).json.data;
    expect(rotated.webhook_secret).to.equal(signing.webhooks.current(id, 2));
    expect(Date.parse(rotated.previous_until)).to.be.greaterThan(Date.now());
    expect((await call('GET', path)).json.data.webhook_secret).to.equal(rotated.webhook_secret);
    const { entries } = (await call('GET', '/api/audit?tenant=acme')).json.data;
    expect(entries.map(({ action }: { action: string }) => action)).to.deep.equal([
      'tenant.rotate_webhook_secret',
      'tenant.create',
    ]);
    const rest = [
      (await call('GET', '/api/tenants')).json,
      (await call('PATCH', path, { rate: 3 })).json,
      entries,
      site.logs,
    ];
    expect(JSON.stringify(rest)).not.to.include('whsec_');
  });

  it('is nobody’s where there is no such tenant, and takes no fields', async () => {
    expect((await call('POST', '/api/tenants/globex/rotate-webhook-secret')).status).to.equal(404);
    const refused = await call('POST', '/api/tenants/acme/rotate-webhook-secret', { version: 1 });
    expect(problems(refused)).to.have.keys('version');
  });

  it('is null without a master secret, and says which variable is missing', async () => {
    const database = await createSqliteDatabase();
    const none = createSigningSecrets(undefined);
    const admin = createKeyAdmin({ store: await database.open(), signing: none, services: () => [] });
    const without = await openTestSite({ admin }, database);
    try {
      await admin.createTenant('acme', 'test');
      const ask = createApiClient(() => without);
      const shown = await ask('GET', '/api/tenants/acme');
      expect(shown.status).to.equal(200);
      expect(shown.json.data).to.include({ name: 'acme', webhook_secret: null });
      expect(shown.json.data.webhook_hint).to.include('HELPER_SIGNING_SECRET');
      const { status, json } = await ask('POST', '/api/tenants/acme/rotate-webhook-secret');
      expect([status, json.error?.code]).to.deep.equal([503, 'storage_unavailable']);
      expect(json.error?.message).to.include('HELPER_SIGNING_SECRET');
    } finally {
      await without.close();
    }
  });
});
