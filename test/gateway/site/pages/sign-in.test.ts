import { expect } from 'chai';
import fc from 'fast-check';
import { localPath } from '../../../../gateway/site/pages/sign-in.js';
import { createBrowserLike, hiddenFields, signedIn } from '../browser-like.js';
import { goodPassword, invite } from '../members.js';
import { useTestSite, withTestSite } from '../test-site.js';

const easy = 'New password is easy to guess; take four words or more';

describe('site: signing in', () => {
  const site = useTestSite({ proxies: 1 });

  async function tryPassword(email: string, password: string, address = '127.0.0.1') {
    const browser = createBrowserLike(site.url);
    await browser.get('/sign-in');
    return browser.submit('/sign-in', { email, password }, { 'x-forwarded-for': address });
  }
  /** Whether a session's cookie, by itself, opens the site. */
  async function opens(cookie: string | undefined): Promise<boolean> {
    const browser = createBrowserLike(site.url);
    browser.cookies.set('hg_session', cookie ?? '');
    return (await browser.get('/overview')).status === 200;
  }

  it('says the same of an unknown e-mail, a malformed one and a wrong password', async () => {
    for (const email of ['nobody@example.com', 'no e-mail', 'a\u0000@example.com', site.operator.email]) {
      const { status, html } = await tryPassword(email, 'some password');
      expect(status, email).to.equal(401);
      expect(html)
        .to.include('do not belong together')
        .and.include(`value="${email}"`)
        .and.not.to.include('some password');
    }
  });

  it('gives a cookie that scripts and other sites do not get, and off loopback over https alone', async () => {
    const { headers } = await tryPassword(site.operator.email, site.operator.password);
    expect(headers.getSetCookie().find((cookie) => cookie.startsWith('hg_session='))).to.match(
      /^hg_session=[\w-]{43}; Path=\/; Max-Age=86400; HttpOnly; SameSite=Lax$/,
    );
    await withTestSite({ secureCookies: true, baseUrl: 'https://keys.example.com' }, async (secure) => {
      const browser = createBrowserLike(secure.url);
      const page = await browser.get('/sign-in');
      expect(page.headers.getSetCookie()[0]).to.match(/^__Host-hg_form=.*; Secure/);
      expect(page.headers.get('strict-transport-security')).to.equal('max-age=31536000');
      const { headers } = await browser.submit('/sign-in', { ...secure.operator });
      expect(headers.getSetCookie().join('\n')).to.match(/^__Host-hg_session=.*; Secure/im);
    });
  });

  it('makes a new session at each sign-in and ends the one before', async () => {
    const browser = await signedIn(site.url, site.operator);
    const before = browser.cookies.get('hg_session');
    const { _token = '' } = hiddenFields((await browser.get('/account')).html, '/sign-out');
    await browser.post('/sign-in', { ...site.operator, _token });
    expect(browser.cookies.get('hg_session')).not.to.equal(before);
    expect(await opens(before)).to.equal(false);
  });

  it('does not take over a session that somebody put into the browser', async () => {
    const browser = createBrowserLike(site.url);
    browser.cookies.set('hg_session', 'planted-by-a-stranger');
    await browser.get('/sign-in');
    await browser.submit('/sign-in', { ...site.operator });
    expect(browser.cookies.get('hg_session')).not.to.include('planted');
    expect((await browser.get('/overview')).status).to.equal(200);
  });

  it('keeps sessions in the database as hashes, which open nothing', async () => {
    await site.connect.run((db) => db.deleteFrom('connect_sessions').execute());
    const browser = await signedIn(site.url, site.operator);
    const rows = await site.connect.run((db) => db.selectFrom('connect_sessions').selectAll().execute());
    expect(rows).to.have.length(1);
    expect(JSON.stringify(rows)).not.to.include(browser.cookies.get('hg_session'));
    expect(await opens(rows[0]?.id)).to.equal(false);
  });

  it('ends the session when one signs out', async () => {
    const browser = await signedIn(site.url, site.operator);
    const cookie = browser.cookies.get('hg_session');
    await browser.get('/account');
    expect((await browser.submit('/sign-out')).location).to.equal('/sign-in');
    expect(browser.cookies.has('hg_session')).to.equal(false);
    expect(await opens(cookie)).to.equal(false);
  });

  it('slows down guessing at one account, says for how long, and lets nobody in meanwhile', async () => {
    const { email, password } = site.operator;
    const address = '192.0.2.1';
    for (let guess = 0; guess < 5; guess += 1)
      expect((await tryPassword(email, `guess number ${guess}`, address)).status).to.equal(401);
    const page = await tryPassword(email.toUpperCase(), password, address);
    expect(page.status).to.equal(429);
    expect(Number(page.headers.get('retry-after'))).to.be.within(1, 600);
    expect(page.html).to.include('Too many tries. Wait 10 minutes');
    expect((await tryPassword('somebody.else@example.com', 'a password', address)).status).to.equal(401);
  });

  it('lets the operator in with a browser that has signed in before, while strangers lock the account', async () => {
    await withTestSite({ proxies: 1 }, async (guarded) => {
      const { email, password } = guarded.operator;
      const own = await signedIn(guarded.url, guarded.operator);
      await own.get('/account');
      await own.submit('/sign-out');
      const stranger = createBrowserLike(guarded.url);
      for (const browser of [own, stranger]) await browser.get('/sign-in');
      async function tryFrom(address: string, guess: string, browser = stranger) {
        const fields = { email, password: guess };
        return (await browser.submit('/sign-in', fields, { 'x-forwarded-for': address })).status;
      }
      for (let n = 0; n < 50; n += 1)
        expect(await tryFrom(`198.51.100.${n >> 2}`, 'a wrong guess')).to.equal(401);
      expect(await tryFrom('203.0.113.1', password), 'from a strange place').to.equal(429);
      expect(await tryFrom('198.51.100.1', password, own), 'with the known browser').to.equal(303);
      expect(await tryFrom('127.0.0.1', password), 'from the known address').to.equal(303);
    });
  }).timeout(30_000);

  it('leads back to where one was going, and to no other site', async () => {
    for (const [next, leads] of [
      ['/tenants?after=a', '/tenants?after=a'],
      ['//evil.example/', '/'],
      ['/\\evil.example', '/'],
      ['https://evil.example/', '/'],
      ['javascript:alert(1)', '/'],
      ['/\t/evil.example', '/'],
      ['/%09/evil.example', '/%09/evil.example'],
      [`/${'a'.repeat(8_000)}`, '/'],
    ] as const) {
      const browser = createBrowserLike(site.url);
      await browser.get(`/sign-in?next=${encodeURIComponent(next)}`);
      expect((await browser.submit('/sign-in', { ...site.operator })).location, next).to.equal(leads);
    }
    const parts = [
      '/',
      '\\',
      '\t',
      '\n',
      '\r',
      '.',
      '..',
      '@',
      ':',
      '%2f',
      '%5c',
      'evil.example',
      '?',
      '#',
      ' ',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...parts), fc.string())), (parts) => {
        const path = localPath(`/${parts.join('')}`);
        if (path === undefined) return;
        expect(new URL(path, 'https://site.example').origin).to.equal('https://site.example');
        expect(path).to.match(/^\/(?![/\\])/);
      }),
    );
  });

  it('lets nobody sign up without an invitation', async () => {
    for (const path of ['/api/auth/sign-up/email', '/sign-up', '/api/auth/get-session'])
      expect((await fetch(site.url + path, { method: 'POST' })).status, path).to.be.oneOf([401, 404]);
  });

  it('changes a password that is hard to guess, and ends the other sessions with it', async () => {
    const other = await signedIn(site.url, site.operator);
    const browser = await signedIn(site.url, site.operator);
    const current = site.operator.password;
    const password = 'a new password of mine';
    async function change(fields: Record<string, string>) {
      await browser.get('/account');
      const same = { current, password, again: fields.password ?? password };
      return browser.submit('/account/password', { ...same, ...fields });
    }
    for (const [fields, said] of [
      [{ current: 'not it at all' }, 'Current password is wrong'],
      [{ password: 'short' }, 'must be 12 to 128 characters'],
      [{ again: 'another' }, 'New password again must be the same password as above'],
      [{ password: 'aaaaaaaaaaaa' }, easy],
      [{ password: 'operator@gateway.local' }, easy],
    ] as const) {
      const refused = await change(fields);
      expect(refused.status).to.equal(400);
      expect(refused.html).to.include(said);
    }
    expect((await change({})).location).to.equal('/account?done=password');
    expect((await browser.get('/account?done=password')).html).to.include('Your password was changed');
    expect((await other.get('/account')).status).to.equal(303);
    expect((await tryPassword(site.operator.email, current)).status).to.equal(401);
    expect((await tryPassword(site.operator.email, password)).status).to.equal(303);
  }).timeout(30_000);
});

describe('site: the page of an invitation', () => {
  const site = useTestSite();
  before(async () => {
    await site.admin.createTenant('acme', 'test');
  });
  const account = { email: 'grace.hopper@example.com', name: '', password: goodPassword };

  async function join(path: string, fields: Partial<typeof account>, browser = createBrowserLike(site.url)) {
    await browser.get(path);
    const { password = goodPassword } = fields;
    return browser.submit(path, { ...account, ...fields, again: password });
  }

  it('refuses a name or a password that cannot be, and the link can still be used', async () => {
    const path = await invite(site, 'acme');
    for (const [fields, said] of [
      [{ name: 'a\u0000b' }, 'without control characters'],
      [{ name: 'Ada \u202egnihton' }, 'without control characters'],
      [{ name: 'a\nb' }, 'without control characters'],
      [{ name: 'x'.repeat(101) }, 'without control characters'],
      [{ email: 'no e-mail' }, 'must be an e-mail address'],
      [{ password: 'password1234' }, easy],
      // Easy for somebody who knows the person.
      [{ password: 'grace.hopper1' }, easy],
    ] as const) {
      const refused = await join(path, fields);
      expect(refused.status).to.equal(400);
      expect(refused.html).to.include(said);
    }
    expect((await join(path, {})).status).to.equal(303);
  });

  it('reveals a few times only whether there is an account, and the link can still be used', async () => {
    const path = await invite(site, 'acme');
    const email = site.operator.email.toUpperCase();
    for (let n = 0; n < 5; n += 1) {
      const refused = await join(path, { email });
      expect(refused.status).to.equal(400);
      expect(refused.html).to.include('No account can be made with this e-mail');
    }
    const [taken, free] = [await join(path, { email }), await join(path, { email: 'free@example.com' })];
    expect([taken.status, free.status]).to.deep.equal([429, 429]);
    expect(Number(free.headers.get('retry-after'))).to.be.within(1, 86_400);
    expect(free.html).to.include('Too many tries. Wait 24 hours');
    // Another's invitation is not held up by that, and somebody with an account may still use this one.
    const guest = createBrowserLike(site.url);
    const other = await invite(site, 'acme');
    expect((await join(other, { email: 'guest@example.com' }, guest)).status).to.equal(303);
    expect(site.logs.join('')).to.not.include(goodPassword);
    await guest.get(path);
    expect((await guest.submit(path)).status).to.equal(303);
  });
});
