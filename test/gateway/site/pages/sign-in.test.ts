import { expect } from 'chai';
import fc from 'fast-check';
import { localPath } from '../../../../gateway/site/pages/sign-in.js';
import { createBrowserLike, hiddenFields, signedIn } from '../browser-like.js';
import { useTestSite, withTestSite } from '../test-site.js';

describe('site: signing in', () => {
  const site = useTestSite({ proxies: 1 });

  async function tryPassword(email: string, password: string, address = '127.0.0.1') {
    const browser = createBrowserLike(site.url);
    await browser.get('/sign-in');
    return browser.submit('/sign-in', { email, password }, { 'x-forwarded-for': address });
  }

  it('says the same of an unknown e-mail, a malformed one and a wrong password', async () => {
    const pages = await Promise.all([
      tryPassword('nobody@example.com', 'some password'),
      tryPassword('no e-mail', 'some password'),
      tryPassword(site.operator.email, 'some password'),
    ]);
    for (const { status, html } of pages) {
      expect(status).to.equal(401);
      expect(html).to.include('do not belong together').and.not.to.include('some password');
    }
    expect(pages[0].html).to.include('value="nobody@example.com"');
  });

  it('gives a cookie that scripts and other sites do not get', async () => {
    const browser = createBrowserLike(site.url);
    await browser.get('/sign-in');
    const { headers } = await browser.submit('/sign-in', { ...site.operator });
    const session = headers.getSetCookie().find((cookie) => cookie.startsWith('hg.session_token='));
    expect(session)
      .to.match(/; HttpOnly/i)
      .and.match(/; SameSite=Lax/i);
    expect(session).not.to.match(/; Secure/i);
  });

  it('sends cookies over https alone where the site is not on a loopback address', async () => {
    await withTestSite({ secureCookies: true, baseUrl: 'https://keys.example.com' }, async (secure) => {
      const page = await createBrowserLike(secure.url).get('/sign-in');
      const [form] = page.headers.getSetCookie();
      expect(form)
        .to.match(/^__Host-hg_form=/)
        .and.match(/; Secure/);
      expect(page.headers.get('strict-transport-security')).to.equal('max-age=31536000');
      const browser = createBrowserLike(secure.url);
      await browser.get('/sign-in');
      const { headers } = await browser.submit('/sign-in', { ...secure.operator });
      expect(headers.getSetCookie().join('\n')).to.match(/^__Secure-hg\.session_token=.*; Secure/im);
    });
  });

  it('makes a new session at each sign-in and ends the one before', async () => {
    const browser = await signedIn(site.url, site.operator);
    const before = browser.cookies.get('hg.session_token') ?? '';
    await browser.get('/account');
    const { _token = '' } = hiddenFields((await browser.get('/account')).html, '/sign-out');
    await browser.post('/sign-in', { ...site.operator, _token });
    expect(browser.cookies.get('hg.session_token')).not.to.equal(before);
    const old = createBrowserLike(site.url);
    old.cookies.set('hg.session_token', before);
    expect((await old.get('/overview')).status).to.equal(303);
  });

  it('does not take over a session that somebody put into the browser', async () => {
    const browser = createBrowserLike(site.url);
    browser.cookies.set('hg.session_token', 'planted.by%2Ba-stranger');
    await browser.get('/sign-in');
    await browser.submit('/sign-in', { ...site.operator });
    expect(browser.cookies.get('hg.session_token')).not.to.include('planted');
    expect((await browser.get('/overview')).status).to.equal(200);
  });

  it('keeps sessions in the database as hashes, which open nothing', async () => {
    await site.connect.run((db) => db.deleteFrom('connect_sessions').execute());
    const browser = await signedIn(site.url, site.operator);
    const cookie = decodeURIComponent(browser.cookies.get('hg.session_token') ?? '');
    const rows = await site.connect.run((db) => db.selectFrom('connect_sessions').selectAll().execute());
    expect(rows).to.have.length(1);
    expect(cookie).not.to.include(rows[0]?.token);
    expect(JSON.stringify(rows)).not.to.include(cookie.split('.')[0]);
  });

  it('ends the session when one signs out', async () => {
    const browser = await signedIn(site.url, site.operator);
    const cookie = browser.cookies.get('hg.session_token') ?? '';
    await browser.get('/account');
    expect((await browser.submit('/sign-out')).location).to.equal('/sign-in');
    browser.cookies.set('hg.session_token', cookie);
    expect((await browser.get('/overview')).status).to.equal(303);
  });

  it('slows down guessing at one account, says for how long, and lets nobody in meanwhile', async () => {
    const { email, password } = site.operator;
    const address = '192.0.2.1';
    for (let guess = 0; guess < 5; guess += 1) {
      expect((await tryPassword(email, `guess number ${guess}`, address)).status).to.equal(401);
    }
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
      for (let n = 0; n < 50; n += 1) {
        expect(await tryFrom(`198.51.100.${n >> 2}`, 'a wrong guess')).to.equal(401);
      }
      expect(await tryFrom('203.0.113.1', password), 'from a strange place').to.equal(429);
      expect(await tryFrom('198.51.100.1', password, own), 'with the known browser').to.equal(303);
      expect(await tryFrom('127.0.0.1', password), 'from the known address').to.equal(303);
    });
  }).timeout(30_000);

  it('takes no password that is easy to guess', async () => {
    const browser = await signedIn(site.url, site.operator);
    const current = site.operator.password;
    for (const password of ['aaaaaaaaaaaa', 'password1234', 'operator@gateway.local']) {
      await browser.get('/account');
      const page = await browser.submit('/account/password', { current, password, again: password });
      expect(page.status, password).to.equal(400);
      expect(page.html).to.include('New password is easy to guess; take four words or more');
    }
  }).timeout(30_000);

  it('leads back to where one was going, and to no other site', async () => {
    for (const [next, leads] of [
      ['/tenants?after=a', '/tenants?after=a'],
      ['//evil.example/', '/'],
      ['/\\evil.example', '/'],
      ['https://evil.example/', '/'],
      ['javascript:alert(1)', '/'],
      [`/${'a'.repeat(500)}`, '/'],
      ['/%09/evil.example', '/%09/evil.example'],
      ['/\t/evil.example', '/'],
    ] as const) {
      const browser = createBrowserLike(site.url);
      await browser.get(`/sign-in?next=${encodeURIComponent(next)}`);
      const page = await browser.submit('/sign-in', { ...site.operator });
      expect(page.location, next).to.equal(leads);
    }
  });

  it('lets nobody sign up without an invitation', async () => {
    for (const path of ['/api/auth/sign-up/email', '/sign-up', '/api/auth/ok', '/api/auth/get-session']) {
      const response = await fetch(`${site.url}${path}`, { method: 'POST' });
      expect(response.status, path).to.be.oneOf([401, 404]);
    }
  });

  it('changes a password, and ends the other sessions with it', async () => {
    const other = await signedIn(site.url, site.operator);
    const browser = await signedIn(site.url, site.operator);
    const password = 'a new password of mine';
    await browser.get('/account');
    const wrong = { current: 'not it at all', password, again: password };
    expect((await browser.submit('/account/password', wrong)).html).to.include(
      'Current password is not your password',
    );
    const short = { current: site.operator.password, password: 'short', again: 'short' };
    expect((await browser.submit('/account/password', short)).html).to.include(
      'must be 12 to 128 characters',
    );
    const right = { current: site.operator.password, password, again: password };
    expect((await browser.submit('/account/password', right)).location).to.equal('/account?changed=1');
    expect((await browser.get('/account?changed=1')).html).to.include('Your password was changed');
    expect((await other.get('/account')).status).to.equal(303);
    expect((await tryPassword(site.operator.email, site.operator.password)).status).to.equal(401);
    expect((await tryPassword(site.operator.email, password)).status).to.equal(303);
  });
});

describe('site/pages: the way back after signing in', () => {
  it('never leads to another site, however it is written', () => {
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
    const part = fc.constantFrom(...parts);
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string())), (parts) => {
        const path = localPath(`/${parts.join('')}`);
        if (path === undefined) return;
        expect(new URL(path, 'https://site.example').origin).to.equal('https://site.example');
        expect(path).to.match(/^\/(?![/\\])/);
      }),
    );
  });
});
