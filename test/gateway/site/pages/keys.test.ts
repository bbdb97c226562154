import { readFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { expect } from 'chai';
import { noLimits } from '../../../../gateway/keys/model.js';
import { createSqliteDatabase, type TestDatabase } from '../../databases.js';
import { type BrowserLike, hiddenFields, signedIn } from '../browser-like.js';
import { goodPassword, invite, join } from '../members.js';
import { openTestSite, operatorToken, type TestSite } from '../test-site.js';

const settings = '/tenants/acme/settings';
const keyText = /hg_[0-9A-Za-z]{20,}/;

describe('site: keys, and what is secret', () => {
  let database: TestDatabase;
  let site: TestSite;
  let operator: BrowserLike;
  let browser: BrowserLike;
  before(async () => {
    database = await createSqliteDatabase();
    site = await openTestSite({}, database);
    await site.admin.createTenant('acme', 'test');
    operator = await signedIn(site.url, site.operator);
    browser = await join(site, 'acme', 'ada@acme.example');
  });
  after(() => site.close());

  /** Sends a form of a page. */
  async function send(page: string, action: string, fields: Record<string, string> = {}, by = browser) {
    await by.get(page);
    return by.submit(action, fields);
  }
  async function issue(fields: Record<string, string> = {}) {
    const page = await send('/tenants/acme', '/tenants/acme/keys', { label: 'billing', ...fields });
    const id = (await site.admin.listKeys('acme')).keys.at(-1)?.id ?? '';
    return { page, id, key: keyText.exec(page.html)?.[0] ?? '', base: `/keys/${id}` };
  }

  it('shows a key in the answer to the form alone, with a curl line', async () => {
    const { page, key, base } = await issue();
    expect([page.status, page.location, page.headers.get('cache-control')]).to.deep.equal([
      200,
      null,
      'no-store',
    ]);
    expect(page.html).to.include("curl -G 'http://127.0.0.1:8080/text/diff-two-strings'");
    for (const path of ['/tenants/acme', base, '/tenants/acme/usage', '/account'])
      expect((await browser.get(path)).html, path).not.to.match(keyText);
    expect(page.headers.getSetCookie().join()).not.to.include(key);
  });

  it('makes no second key when the page that shows one is loaded again', async () => {
    const { html } = await browser.get('/tenants/acme');
    const fields = { ...hiddenFields(html, '/tenants/acme/keys'), label: 'x' };
    expect((await browser.post('/tenants/acme/keys', fields)).status).to.equal(200);
    const count = (await site.admin.listKeys('acme')).keys.length;
    const again = await browser.post('/tenants/acme/keys', fields);
    expect(again.status).to.equal(409);
    expect(again.html).to.include('This form was sent before').and.not.to.match(keyText);
    expect((await site.admin.listKeys('acme')).keys).to.have.length(count);
  });

  it('says beside each field what is wrong with it, and accepts the form again', async () => {
    const wrong = {
      label: 'a\u202eb',
      expires_at: '2020-01-01',
      'scope:text/*': 'on',
      'scope:nothing/*': 'on',
    };
    const { page } = await issue(wrong);
    expect(page.status).to.equal(400);
    for (const said of [
      'Label must be one line of 1 to 100 characters',
      'May call has the unknown scope',
      'which has passed',
      'checked',
      'value="2020-01-01"',
    ])
      expect(page.html).to.include(said);
    const right = { label: 'billing', 'scope:text/*': 'on', expires_at: '' };
    expect((await browser.submit('/tenants/acme/keys', right)).status).to.equal(200);

    const limits = { rate: '1.5', in_flight: 'many', weight: '0' };
    const refused = await send(settings, `${settings}/limits`, limits, operator);
    expect(refused.status).to.equal(400);
    for (const said of [
      'Calls a second must be a whole number from 0 to 1000000, but is the number 1.5.',
      'Tasks at once must be a whole number from 1 to 10000, but is the string &quot;many&quot;.',
      'Weight must be a whole number from 1 to 100, but is the number 0.',
    ])
      expect(refused.html).to.include(said);
  });

  it('goes back to the default where a limit or the weight is left empty', async () => {
    await site.admin.editTenant('acme', { rate: 7, weight: 9 }, 'test');
    const fields = { rate: '', burst: '5', weight: ' ' };
    const saved = await send(settings, `${settings}/limits`, fields, operator);
    expect(saved.location).to.equal(`${settings}?saved=1`);
    const { limits, weight } = await site.admin.tenant('acme');
    expect(limits).to.deep.equal({ ...noLimits, burst: 5 });
    expect(weight).to.equal(1);
  });

  it('rotates with a grace, ends it, revokes after asking', async () => {
    const { key, base } = await issue();
    const rotated = await send(base, `${base}/rotate`, { grace_seconds: '3600' });
    const both = [key, keyText.exec(rotated.html)?.[0] ?? ''];
    const states = async () => Promise.all(both.map(async (key) => (await site.verifier.verify(key)).state));
    expect(await states()).to.deep.equal(['active', 'active']);
    expect((await send(base, `${base}/end-grace`)).location).to.equal(`${base}?done=end-grace`);
    expect(await states()).to.deep.equal(['expired', 'active']);
    expect((await browser.get(`${base}?done=end-grace`)).html).to.include('The grace has ended');
    expect((await browser.get(`${base}/revoke`)).html).to.include('This cannot be undone');
    await browser.submit(`${base}/revoke`);
    expect(await states()).to.deep.equal(['revoked', 'revoked']);
    expect((await browser.get(base)).html)
      .to.include('>revoked<')
      .and.not.to.include('Rotate…');
  });

  it('answers with the page, not a fault, where a key was revoked meanwhile', async () => {
    const { id, base } = await issue();
    await browser.get(base);
    await site.admin.revokeKey(id, 'test');
    const page = await browser.submit(`${base}/rotate`, { grace_seconds: '0' });
    expect(page.status).to.equal(400);
    expect(page.html).to.include('was revoked at');
  });

  it('writes no key, password, token, cookie or link to the log or into the database', async () => {
    const link = await invite(site, 'acme');
    const { key } = await issue();
    await fetch(`${site.url}/api/tenants`, { headers: { authorization: `Bearer ${operatorToken}` } });
    await operator.get('/audit');
    const session = operator.cookies.get('hg_session') ?? 'none';
    const secrets = [key, goodPassword, operatorToken, site.operator.password, session, link.slice(6)];
    const places = {
      log: site.logs.join(''),
      database: readFileSync(joinPath(database.location, 'gateway.db'), 'latin1'),
    };
    expect(places.log).to.include('/tenants/:tenant/keys');
    for (const [place, text] of Object.entries(places))
      for (const secret of secrets)
        expect(text.includes(secret), `${secret.slice(0, 4)}… in the ${place}`).to.equal(false);
  });

  it('shows an invitation link once, which makes one member', async () => {
    const path = await invite(site, 'acme');
    const { html } = await operator.get('/tenants/acme/members');
    expect(html).to.include('for a test').and.not.to.include(path);
    const guest = await join(site, 'acme', 'bob@acme.example');
    expect((await guest.get('/')).location).to.equal('/tenants/acme');
    // Somebody with an account accepts the link with it.
    expect((await guest.get(path)).html).to.include('Join with this account');
    expect((await guest.submit(path)).status).to.equal(303);
    expect((await guest.get(path)).status).to.equal(404);
    const entries = (await site.admin.audit({ tenant: 'acme' })).entries.map(({ action }) => action);
    expect(entries).to.include('member.invite').and.include('member.join');
  });

  it('has no part of a list that no page leads to', async () => {
    for (const path of ['/tenants?after=', '/keys?after=', '/tenants/acme?after=', '/audit?after='])
      for (const cursor of ['%00', 'A%20B', '-1', '1.5', '0x10']) {
        // A tenant's name may look like a number in hexadecimal.
        if (cursor === '0x10' && !path.startsWith('/audit')) continue;
        expect((await operator.get(path + cursor)).status, path + cursor).to.equal(404);
      }
  });
});
