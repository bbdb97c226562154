import { expect } from 'chai';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { signing } from '../../signing/signing.js';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { useTestSite, withTestSite } from '../test-site.js';

const page = '/tenants/acme/webhooks';
const secretText = /whsec_[\w+/]{43}=/;

describe('the page of webhooks', () => {
  const site = useTestSite();
  let id: string;
  let member: BrowserLike;
  before(async () => {
    ({ id } = await site.admin.createTenant('acme', 'test'));
    await site.admin.createTenant('globex', 'test');
    member = await join(site, 'acme', 'ada@acme.example');
  });
  const actions = async () =>
    (await site.admin.audit({ tenant: 'acme' })).entries
      .map(({ actor, action }) => `${actor} ${action}`)
      .filter((entry) => entry.includes('webhook'));

  it('shows the secret to a member who asks for it, each time, which is noted', async () => {
    for (let time = 1; time <= 2; time += 1) {
      expect((await member.get(page)).html).not.to.match(secretText);
      const { status, html, headers } = await member.submit(`${page}/secret`);
      expect(status).to.equal(200);
      expect(secretText.exec(html)?.[0]).to.equal(signing.webhooks.current(id, 1));
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(await actions()).to.have.length(time);
    }
    expect(new Set(await actions())).to.deep.equal(new Set(['user:ada@acme.example tenant.webhook_secret']));
    expect((await member.get(`${page}/secret`)).location).to.equal(page);
  });

  it('replaces it, once a form', async () => {
    expect((await member.get(`${page}/rotate`)).html)
      .to.include('For 24 hours')
      .and.not.match(secretText);
    const { html } = await member.submit(`${page}/rotate`);
    expect(secretText.exec(html)?.[0]).to.equal(signing.webhooks.current(id, 2));
    expect(html).to.include('signed with the one before as well until');
    expect((await actions())[0]).to.equal('user:ada@acme.example tenant.rotate_webhook_secret');
    expect(site.logs.join('')).not.to.match(secretText);
  });

  it('is nobody else’s', async () => {
    const other = await join(site, 'globex', 'bob@globex.example');
    for (const path of [page, `${page}/secret`, `${page}/rotate`])
      expect((await other.get(path)).status, path).to.equal(404);
  });

  it('says what is missing where there is no master secret', async () => {
    await withTestSite({ signing: createSigningSecrets(undefined) }, async (without) => {
      await without.admin.createTenant('acme', 'test');
      const operator = await signedIn(without.url, without.operator);
      expect((await operator.get(page)).html)
        .to.include('HELPER_SIGNING_SECRET')
        .and.not.include('Show webhook secret');
      expect((await operator.get(`${page}/rotate`)).location).to.equal(page);
    });
  });
});
