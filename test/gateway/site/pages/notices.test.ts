import { expect } from 'chai';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { operatorToken, type TestSite, useTestSite, withTestSite } from '../test-site.js';

/** Has two tenants noticed, by keys that expire. */
async function addNotices(site: TestSite): Promise<string> {
  const expires_at = new Date(Date.now() + 60 * 86_400_000).toISOString();
  const ids: string[] = [];
  for (const tenant of ['acme', 'globex']) {
    await site.admin.createTenant(tenant, 'test');
    ids.push((await site.admin.issueKey(tenant, { label: '<b>shop</b>', expires_at }, 'test')).id);
  }
  // As if they had been issued long ago.
  await site.connect.run((db) =>
    db
      .withTables<{ keys: { created_at: number; expires_at: number } }>()
      .updateTable('keys')
      .set({ created_at: 1, expires_at: Date.now() + 20.5 * 86_400_000 })
      .execute(),
  );
  await site.notices.start();
  await site.notices.close();
  return ids[0] as string;
}

describe('site: notices', () => {
  const site = useTestSite();
  let operator: BrowserLike;
  let key: string;
  before(async () => {
    key = await addNotices(site);
    operator = await signedIn(site.url, site.operator);
  });

  it('show operators those of all tenants, each with a way to what it is about', async () => {
    const { html } = await operator.get('/notices');
    expect(html).to.include(`href="/tenants/acme/keys/${key}"`).and.include('of globex expires in 21 days');
    expect(html).to.include('&lt;b>shop&lt;/b>').and.include('HELPER_NOTICES_URL');
    const { html: budgets } = await operator.get('/notices?type=tenant.budget');
    expect(budgets).to.include('No notices').and.not.to.include('expires in');
    expect((await operator.get('/notices?type=nonsense')).status).to.equal(404);
  });

  it('show members and viewers those of their tenant alone', async () => {
    for (const role of ['member', 'viewer'] as const) {
      const browser = await join(site, 'acme', `${role}@acme.example`, role);
      const { html } = await browser.get('/tenants/acme/notices');
      expect(html).to.include('of acme expires in 21 days').and.not.to.include('globex');
    }
  });

  it('are listed by the API, by tenant and type', async () => {
    const read = async (query: string) => {
      const headers = { authorization: `Bearer ${operatorToken}` };
      const response = await fetch(`${site.url}/api/notices${query}`, { headers });
      return { status: response.status, ...(await response.json()) };
    };
    const { data } = await read('?tenant=acme&type=key.expiring');
    expect(data.notices).to.have.length(1);
    expect(data.notices[0]).to.include({ type: 'key.expiring', tenant: 'acme' });
    expect(data.notices[0].data).to.include({ key, days_left: 21 });
    expect((await read('?tenant=nobody')).status).to.equal(404);
    expect((await read('?type=nonsense')).status).to.equal(400);
  });

  it('say that none are sent without a master secret', () =>
    withTestSite({ signing: createSigningSecrets(undefined) }, async (other) => {
      await addNotices(other);
      const browser = await signedIn(other.url, other.operator);
      for (const path of ['/notices', '/tenants/acme/notices'])
        expect((await browser.get(path)).html, path).to.include('HELPER_SIGNING_SECRET');
    }));

  it('show what signs the operator’s, which is noted', async () => {
    const notices = { ...site.notices, operatorHost: 'hooks.example' };
    await withTestSite({ notices }, async (other) => {
      const browser = await signedIn(other.url, other.operator);
      await browser.get('/notices');
      const { html } = await browser.submit('/notices/secret');
      expect(html).to.match(/whsec_[A-Za-z0-9+/]{43}=/);
      expect((await other.admin.audit()).entries[0]?.action).to.equal('operator.notices_secret');
    });
  });
});
