import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { sql } from 'kysely';
import { type BrowserLike, createBrowserLike, signedIn } from '../browser-like.js';
import { createIdentityProvider, type IdentityProvider } from '../identity-provider.js';
import { openTestSite, type TestSite, withTestSite } from '../test-site.js';

describe('site: signing in through an identity provider', () => {
  let provider: IdentityProvider;
  let site: TestSite;
  async function open(): Promise<void> {
    provider = await createIdentityProvider();
    site = await openTestSite({ oidc: oidc() });
  }
  async function close(): Promise<void> {
    await site.close();
    await provider.close();
  }
  const oidc = () => ({ issuer: provider.issuer, clientId: 'gateway', clientSecret: 'shh', name: 'Corp' });

  /** Sets out to sign in. */
  async function setOut(browser = createBrowserLike(site.url)) {
    return { browser, url: (await browser.get('/sign-in/oidc')).location };
  }
  /** The way to the provider for somebody who is signed in and wants to connect their account. */
  async function setOutToConnect(browser: BrowserLike) {
    await browser.get('/account');
    const { html } = await browser.submit('/account/oidc');
    const url = /href="(http:[^"]+authorize[^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? null;
    return { browser, url };
  }
  /** Where the provider, which knows everybody at once, leads back to. */
  async function visitProvider(url: string | null): Promise<string> {
    expect(url).to.match(new RegExp(`^${provider.issuer}/authorize\\?`));
    const back = (await fetch(url ?? '', { redirect: 'manual' })).headers.get('location') ?? '';
    expect(back).to.match(new RegExp(`^${site.url}/auth/callback/oidc\\?`));
    return back.slice(site.url.length);
  }
  const comeBack = async ({ browser, url }: { browser: BrowserLike; url: string | null }) =>
    browser.get(await visitProvider(url));
  const subjects = async () =>
    (await site.connect.run((db) => db.selectFrom('connect_identities').select('subject').execute())).map(
      ({ subject }) => subject,
    );

  describe('that works', () => {
    before(open);
    after(close);

    it('lets nobody in who has not connected an account, whatever their e-mail', async () => {
      provider.person = { sub: 'stranger', email: site.operator.email, email_verified: true };
      const visit = await setOut();
      expect((await comeBack(visit)).location).to.equal('/sign-in?failed=1');
      const { html } = await visit.browser.get('/sign-in?failed=1');
      expect(html).to.include('Signing in with Corp did not work');
      expect((await visit.browser.get('/overview')).status).to.equal(303);
      const users = await site.connect.run((db) => db.selectFrom('connect_users').select('id').execute());
      expect(users).to.have.length(1);
    });

    it('lets in who has, and notes it', async () => {
      provider.person = { sub: 'person-1', email: 'ada@corp.example', email_verified: true };
      const operator = await signedIn(site.url, site.operator);
      expect((await comeBack(await setOutToConnect(operator))).location).to.equal('/account?connected=1');
      const { html } = await operator.get('/account?connected=1');
      expect(html).to.include('Connected: you can sign in with Corp');
      const visit = await setOut();
      expect((await comeBack(visit)).location).to.equal('/');
      expect((await visit.browser.get('/overview')).status).to.equal(200);
      expect(await subjects()).to.deep.equal(['person-1']);
      const tables = ['connect_identities', 'connect_sessions', 'connect_users'] as const;
      const rows = await site.connect.run((db) =>
        Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute())),
      );
      const kept = JSON.stringify([rows, ...visit.browser.cookies]);
      expect(kept).not.to.match(/provider-(access|refresh)-token|eyJ/);

      const entries = (await site.store.audit({ limit: 100 })).reverse();
      const own = entries.filter(({ detail }) => detail.through === 'Corp');
      const actor = `user:${site.operator.email}`;
      const through = 'Corp';
      expect(own.map(({ actor, action, detail }) => [actor, action, detail])).to.deep.equal([
        ['address:127.0.0.1', 'account.sign_in_failed', { through }],
        [actor, 'account.connect', { through, account: '"person-1"' }],
        [actor, 'account.sign_in', { address: '127.0.0.1', through }],
      ]);
      const audit = (await operator.get('/audit')).html;
      for (const said of ['connected an account', 'signed in', 'failed to sign in'])
        expect(audit).to.include(said);
    });

    it('ends the session that the browser had', async () => {
      const browser = await signedIn(site.url, site.operator);
      const before = createBrowserLike(site.url);
      before.cookies.set('hg_session', browser.cookies.get('hg_session') ?? '');
      expect((await before.get('/overview')).status).to.equal(200);
      expect((await comeBack(await setOut(browser))).location).to.equal('/');
      expect((await before.get('/overview')).status).to.equal(303);
      expect((await browser.get('/overview')).status).to.equal(200);
    });

    it('accepts an answer once, and only in the browser that asked', async () => {
      const visit = await setOut();
      const back = await visitProvider(visit.url);
      const other = createBrowserLike(site.url);
      expect((await other.get(back)).location).to.equal('/sign-in?failed=1');
      expect((await other.get('/overview')).status).to.equal(303);
      expect((await visit.browser.get(back)).location).to.equal('/');
      expect((await visit.browser.get(back)).location).not.to.equal('/');
      for (const query of ['', '?code=x', '?state=x', '?error=access_denied', '?code=x&state=y']) {
        const page = await createBrowserLike(site.url).get(`/auth/callback/oidc${query}`);
        expect([page.status, page.location], query).to.deep.equal([303, '/sign-in?failed=1']);
      }
    });

    it('connects an account in its own session alone, even if the database is read', async () => {
      provider.person = { sub: 'reader-of-a-backup', email: 'eve@evil.example', email_verified: true };
      const victim = await signedIn(site.url, site.operator);
      const [session] = await site.connect.run((db) =>
        db.selectFrom('connect_sessions').selectAll().orderBy('created_at', 'desc').limit(1).execute(),
      );
      const settings = await site.connect.run((db) =>
        db.selectFrom('connect_settings').select('value').where('name', '=', 'secret').executeTakeFirst(),
      );
      // The reader leads the victim to the end of a visit of their own, with the nearest state that the database allows.
      const { browser: reader, url } = await setOut();
      const visit = reader.cookies.get('hg_visit') ?? '';
      for (const known of [session?.id, session?.user_id]) {
        const text = `visit\nstate\n${visit}\n${known}`;
        const state = createHmac('sha256', settings?.value ?? '')
          .update(text)
          .digest('base64url');
        const asked = new URL(url ?? '');
        asked.searchParams.set('state', state);
        victim.cookies.set('hg_visit', visit);
        const page = await comeBack({ browser: victim, url: asked.href });
        expect(page.location).to.equal('/account?connected=0');
      }
      expect(await subjects()).not.to.include('reader-of-a-backup');
    });

    it('gives one address so many visits, and keeps them in the browser for ten minutes', async () => {
      await withTestSite({ oidc: oidc(), proxies: 1 }, async (busy) => {
        const ask = (path: string, address: string) =>
          fetch(busy.url + path, { redirect: 'manual', headers: { 'x-forwarded-for': address } });
        const many = (count: number, path: string, address: string) =>
          Promise.all(Array.from({ length: count }, () => ask(path, address)));
        const answers = await many(70, '/sign-in/oidc', '192.0.2.1');
        const refused = answers.filter(({ status }) => status === 429);
        expect(refused).to.have.length(10);
        expect(Number(refused[0]?.headers.get('retry-after'))).to.be.within(1, 600);
        expect((await ask('/sign-in/oidc', '192.0.2.2')).status).to.equal(303);
        const cookies = answers.flatMap(({ headers }) => headers.getSetCookie());
        expect(cookies.find((cookie) => cookie.startsWith('hg_visit='))).to.match(
          /^hg_visit=[^;]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
        );
        const returns = await many(40, '/auth/callback/oidc?code=x&state=y', '192.0.2.3');
        expect(returns.filter(({ status }) => status === 429)).to.have.length(10);
      });
    });

    it('ends a visit after ten minutes', async () => {
      let now = Date.now();
      await withTestSite({ oidc: oidc(), now: () => now }, async (late) => {
        const browser = createBrowserLike(late.url);
        const { location } = await browser.get('/sign-in/oidc');
        const answer = await fetch(location ?? '', { redirect: 'manual' });
        const back = (answer.headers.get('location') ?? '').slice(late.url.length);
        now += 600_000;
        expect((await browser.get(back)).location).to.equal('/sign-in?failed=1');
      });
    });
  });

  it('leaves the password as a way in while the provider does not answer, and is not there where none is set', async () => {
    const away = { issuer: 'http://127.0.0.1:1', clientId: 'gateway', clientSecret: 'shh', name: 'Corp' };
    await withTestSite({ oidc: away }, async (alone) => {
      const browser = await signedIn(alone.url, alone.operator);
      expect((await browser.get('/overview')).status).to.equal(200);
      const { location } = await createBrowserLike(alone.url).get('/sign-in/oidc');
      expect(location).to.equal('/sign-in?failed=1');
    });
    await withTestSite({}, async (plain) => {
      const browser = await signedIn(plain.url, plain.operator);
      expect((await browser.get('/account')).html).not.to.include('/account/oidc');
      for (const path of ['/sign-in/oidc', '/auth/callback/oidc?code=x&state=y'])
        expect((await browser.get(path)).status, path).to.equal(404);
    });
  });

  describe('that goes wrong', () => {
    // Of its own in each test: a provider's keys are cached once they were read.
    beforeEach(open);
    afterEach(close);
    const run = (statement: string) => site.connect.run((db) => sql.raw(statement).execute(db));
    const breakAudit = () =>
      run(`create trigger no_audit before insert on audit begin select raise(abort, 'no'); end`);

    it('connects no account, and lets nobody in, where that cannot be noted', async () => {
      const operator = await signedIn(site.url, site.operator);
      const connect = async () => comeBack(await setOutToConnect(operator));
      await breakAudit();
      expect((await connect()).status).to.equal(500);
      expect(await subjects()).to.deep.equal([]);
      await run('drop trigger no_audit');
      expect((await connect()).location).to.equal('/account?connected=1');
      expect(await subjects()).to.have.length(1);
      await breakAudit();
      const visit = await setOut();
      expect((await comeBack(visit)).status).to.equal(500);
      expect((await visit.browser.get('/overview')).status).to.equal(303);
    });

    for (const fault of ['no token', 'token is garbage', 'no keys', 'identity is garbage'] as const) {
      it(`says that the provider did not answer: ${fault}`, async () => {
        const visit = await setOut();
        provider.fault = fault;
        const page = await comeBack(visit);
        expect(page.status).to.equal(502);
        expect(page.html).to.include('Corp did not answer as it should').and.include('href="/sign-in"');
        expect(site.logs.join('')).to.include('upstream_failed').and.not.include('keys_unavailable');
      });
    }

    it('does not blame the provider for a code that it refuses, nor for what a visitor makes up', async () => {
      const visit = await setOut();
      provider.fault = 'refuses codes';
      expect((await comeBack(visit)).location).to.equal('/sign-in?failed=1');
      const { browser, url } = await setOut();
      const state = new URL(url ?? '').searchParams.get('state');
      const made = await browser.get(`/auth/callback/oidc?error=invalid_code&state=${state}`);
      expect([made.status, made.location]).to.deep.equal([303, '/sign-in?failed=1']);
    });

    it('connects no account that is another’s', async () => {
      const operator = await signedIn(site.url, site.operator);
      await run(`insert into connect_users (id, name, email) values ('other', '', 'other@example.com')`);
      await run(`insert into connect_identities values ('${provider.person.sub}', 'other')`);
      expect((await comeBack(await setOutToConnect(operator))).location).to.equal('/account?connected=0');
    });

    it('says that the database does not answer where it is that', async () => {
      const visit = await setOut();
      await site.connect.close();
      const page = await comeBack(visit);
      expect(page.status).to.equal(503);
      expect(page.html).to.include('The database does not answer');
    });
  });
});
