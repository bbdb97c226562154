import { expect } from 'chai';
import { createKeyAdmin } from '../../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase } from '../../databases.js';
import { signing } from '../../signing/signing.js';
import { openTestSite, services, type TestSite } from '../test-site.js';
import { createApiClient, problems } from './api-client.js';

describe('site/api: signing secrets', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
    await site.admin.createTenant('acme', 'test');
  });
  after(() => site.close());
  const call = createApiClient(() => site);

  it('come with a new key, are shown again, and are replaced', async () => {
    const issued = (await call('POST', '/api/tenants/acme/keys', {})).json.data;
    expect(issued.signing_secret).to.equal(signing.current(issued.id, 1));
    const path = `/api/keys/${issued.id}`;
    const { id, signing_secret } = issued;
    expect((await call('POST', `${path}/signing-secret`)).json.data).to.deep.equal({ id, signing_secret });
    const rotated = (await call('POST', `${path}/rotate-signing`, {})).json.data;
    expect(rotated).to.deep.equal({ id, signing_secret: signing.current(id, 2) });
    expect((await call('POST', `${path}/signing-secret`)).json.data).to.deep.equal(rotated);
    // The key itself goes on.
    expect(await site.verifier.verify(issued.key)).to.have.property('state', 'active');
    const { entries } = (await call('GET', `/api/audit?key=${id}`)).json.data;
    expect(entries.map(({ action }: { action: string }) => action)).to.deep.equal([
      'key.signing_secret',
      'key.rotate_signing',
      'key.signing_secret',
      'key.issue',
    ]);
    expect(JSON.stringify(entries)).not.to.include('hgs_');
    const key = JSON.stringify((await call('GET', path)).json) + site.logs.join('');
    expect(key).not.to.include('hgs_');
  });

  it('are nobody’s where there is no such key, or it has ended', async () => {
    expect((await call('POST', '/api/keys/key_none/signing-secret')).status).to.equal(404);
    const { id } = (await call('POST', '/api/tenants/acme/keys')).json.data;
    await call('DELETE', `/api/keys/${id}`);
    for (const what of ['signing-secret', 'rotate-signing']) {
      const refused = await call('POST', `/api/keys/${id}/${what}`);
      expect(refused.status).to.equal(400);
      expect(problems(refused).id).to.include('revoked');
      expect(problems(await call('POST', `/api/keys/${id}/${what}`, { version: 1 }))).to.have.keys('version');
    }
  });

  it('need a master secret, and say so by its name', async () => {
    const database = await createSqliteDatabase();
    const admin = createKeyAdmin({
      store: await database.open(),
      signing: createSigningSecrets(undefined),
      services: () => services.map(({ id }) => id),
    });
    const without = await openTestSite({ admin }, database);
    try {
      const ask = createApiClient(() => without);
      await ask('POST', '/api/tenants', { name: 'acme' });
      const issued = (await ask('POST', '/api/tenants/acme/keys')).json.data;
      expect(issued.signing_secret).to.equal(null);
      expect(await without.verifier.verify(issued.key)).to.have.property('state', 'active');
      for (const what of ['signing-secret', 'rotate-signing']) {
        const { status, json } = await ask('POST', `/api/keys/${issued.id}/${what}`);
        expect([status, json.error?.code]).to.deep.equal([503, 'storage_unavailable']);
        expect(json.error?.message).to.include('HELPER_SIGNING_SECRET');
      }
      const { entries } = (await ask('GET', '/api/audit')).json.data;
      expect(JSON.stringify(entries)).not.to.include('signing');
    } finally {
      await without.close();
    }
  });
});
