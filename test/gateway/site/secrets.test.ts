import { readFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { expect } from 'chai';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { type BrowserLike, hiddenFields, signedIn } from './browser-like.js';
import { goodPassword, invite, join } from './members.js';
import { openTestSite, operatorToken, type TestSite } from './test-site.js';

const keyText = /hg_[0-9A-Za-z]{20,}/;

describe('site: what is secret', () => {
  let database: TestDatabase;
  let site: TestSite;
  let browser: BrowserLike;
  before(async () => {
    database = await createSqliteDatabase();
    site = await openTestSite({}, database);
    await site.admin.createTenant('acme', 'test');
    browser = await join(site, 'acme', 'ada@acme.example');
  });
  after(() => site.close());

  async function issue(fields: Record<string, string> = {}) {
    await browser.get('/tenants/acme');
    return browser.submit('/tenants/acme/keys', { label: 'billing', ...fields });
  }
  const keys = async () => (await site.admin.listKeys('acme')).keys;

  it('shows a key in the answer to the form alone, with a curl line', async () => {
    const page = await issue();
    const key = keyText.exec(page.html)?.[0] ?? '';
    expect(page.status).to.equal(200);
    expect(page.location).to.equal(null);
    expect(page.headers.get('cache-control')).to.equal('no-store');
    expect(page.html).to.include(
      `curl -G &#39;http://127.0.0.1:8080/text/diff-two-strings&#39;`.replaceAll('&#39;', "'"),
    );
    const id = (await keys()).at(-1)?.id;
    for (const path of ['/tenants/acme', `/tenants/acme/keys/${id}`, '/tenants/acme/usage', '/account']) {
      const { html } = await browser.get(path);
      expect(html, path).not.to.include(key).and.not.to.match(keyText);
    }
    expect(page.headers.getSetCookie().join()).not.to.include(key);
  });

  it('makes no second key when the page that shows one is loaded again', async () => {
    await browser.get('/tenants/acme');
    const fields = {
      ...hiddenFields((await browser.get('/tenants/acme')).html, '/tenants/acme/keys'),
      label: 'x',
    };
    const before = (await keys()).length;
    expect((await browser.post('/tenants/acme/keys', fields)).status).to.equal(200);
    const again = await browser.post('/tenants/acme/keys', fields);
    expect(again.status).to.equal(409);
    expect(again.html).to.include('This form was sent before').and.not.to.match(keyText);
    expect(await keys()).to.have.length(before + 1);
  });

  it('takes a form again that was refused', async () => {
    const refused = await issue({ expires_at: '2020-01-01', 'scope:text/*': 'on' });
    expect(refused.status).to.equal(400);
    expect(refused.html).to.include('which has passed').and.include('value="billing"').and.include('checked');
    const page = await browser.submit('/tenants/acme/keys', { label: 'billing', 'scope:text/*': 'on' });
    expect(page.status).to.equal(200);
  });

  it('rotates with a grace, ends it, revokes after asking', async () => {
    const first = keyText.exec((await issue()).html)?.[0] ?? '';
    const id = (await keys()).at(-1)?.id ?? '';
    const base = `/tenants/acme/keys/${id}`;
    await browser.get(base);
    const rotated = await browser.submit(`${base}/rotate`, { grace_seconds: '3600' });
    const second = keyText.exec(rotated.html)?.[0] ?? '';
    const states = async () =>
      Promise.all([first, second].map(async (key) => (await site.verifier.verify(key)).state));
    expect(await states()).to.deep.equal(['active', 'active']);
    await browser.get(base);
    expect((await browser.submit(`${base}/end-grace`)).location).to.equal(`${base}?done=grace`);
    expect(await states()).to.deep.equal(['expired', 'active']);
    expect((await browser.get(`${base}?done=grace`)).html).to.include('The grace has ended');
    expect((await browser.get(`${base}/revoke`)).html).to.include('This cannot be undone');
    await browser.submit(`${base}/revoke`);
    expect(await states()).to.deep.equal(['revoked', 'revoked']);
    const { html } = await browser.get(base);
    expect(html).to.include('>revoked<').and.not.to.include('Rotate key');
  });

  it('answers with the page, not a fault, where a key was revoked meanwhile', async () => {
    await issue();
    const id = (await keys()).at(-1)?.id ?? '';
    const base = `/tenants/acme/keys/${id}`;
    await browser.get(base);
    await site.admin.revokeKey(id, 'test');
    const page = await browser.submit(`${base}/rotate`, { grace_seconds: '0' });
    expect(page.status).to.equal(400);
    expect(page.html).to.include('This key was revoked at');
  });

  it('writes no key, password, token, cookie or link to the log or into the database', async () => {
    const link = await invite(site, 'acme');
    const key = keyText.exec((await issue()).html)?.[0] ?? '';
    await fetch(`${site.url}/api/tenants`, { headers: { authorization: `Bearer ${operatorToken}` } });
    const operator = await signedIn(site.url, site.operator);
    await operator.get('/audit');
    const session =
      decodeURIComponent(operator.cookies.get('hg.session_token') ?? '').split('.')[0] ?? 'none';
    const secrets = [
      key,
      goodPassword,
      operatorToken,
      site.operator.password,
      session,
      link.slice('/join/'.length),
    ];
    const places = {
      log: site.logs.join(''),
      database: readFileSync(joinPath(database.location, 'gateway.db'), 'latin1'),
    };
    expect(places.log).to.include('/tenants/:tenant/keys');
    for (const [place, text] of Object.entries(places)) {
      for (const secret of secrets)
        expect(text.includes(secret), `${secret.slice(0, 4)}… in the ${place}`).to.equal(false);
    }
  });

  it('shows an invitation link once, which makes one member', async () => {
    const path = await invite(site, 'acme');
    const { html } = await (await signedIn(site.url, site.operator)).get('/tenants/acme/members');
    expect(html).to.include('for a test').and.not.to.include(path);
    const guest = await join(site, 'acme', 'bob@acme.example');
    expect((await guest.get('/')).location).to.equal('/tenants/acme');
    // Whoever has an account takes the link up with it.
    expect((await guest.get(path)).html).to.include('Join with this account');
    expect((await guest.submit(path)).status).to.equal(303);
    expect((await guest.get(path)).status).to.equal(404);
    const entries = (await site.admin.audit({ tenant: 'acme' })).entries.map(({ action }) => action);
    expect(entries).to.include('member.invite').and.include('member.join');
  });
});
