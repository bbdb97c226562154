import { hkdfSync } from 'node:crypto';
import { symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import { expect } from 'chai';
import { sql } from 'kysely';
import { type BrowserLike, comeBack, createBrowserLike, setOutToConnect, signedIn } from '../browser-like.js';
import { createIdentityProvider, type IdentityProvider } from '../identity-provider.js';
import { openTestSite, type TestSite, withTestSite } from '../test-site.js';

describe('site: signing in through an identity provider', () => {
  let provider: IdentityProvider;
  let site: TestSite;
  before(async () => {
    provider = await createIdentityProvider();
    const { issuer } = provider;
    site = await openTestSite({ oidc: { issuer, clientId: 'gateway', clientSecret: 'shh', name: 'Corp' } });
  });
  after(async () => {
    await site.close();
    await provider.close();
  });

  /** Goes to the provider and comes back; returns where the site leads to then. */
  async function visit(browser: BrowserLike, url: string | null): Promise<string | null> {
    expect(url).to.match(new RegExp(`^${provider.issuer}/authorize\\?`));
    return (await comeBack(browser, url, site.url)).location;
  }
  const connect = async (browser: BrowserLike) => visit(browser, await setOutToConnect(browser));

  it('lets nobody in who has not connected an account, whatever their e-mail', async () => {
    provider.person = { sub: 'stranger', email: site.operator.email, email_verified: true };
    const browser = createBrowserLike(site.url);
    const { location } = await browser.get('/sign-in/oidc');
    expect(await visit(browser, location)).to.equal('/sign-in?failed=1');
    expect((await browser.get('/sign-in?failed=1')).html).to.include('Signing in with Corp did not work');
    expect((await browser.get('/overview')).status).to.equal(303);
    const users = await site.connect.run((db) => db.selectFrom('connect_users').select('id').execute());
    expect(users).to.have.length(1);
  });

  it('lets in who has, and keeps none of the provider’s tokens', async () => {
    provider.person = { sub: 'person-1', email: 'ada@corp.example', email_verified: true };
    const operator = await signedIn(site.url, site.operator);
    expect(await connect(operator)).to.equal('/account?connected=1');
    expect((await operator.get('/account?connected=1')).html).to.include(
      'Connected: you can sign in with Corp',
    );

    const browser = createBrowserLike(site.url);
    const { location } = await browser.get('/sign-in/oidc');
    expect(await visit(browser, location)).to.equal('/');
    expect((await browser.get('/overview')).status).to.equal(200);
    const rows = await site.connect.run((db) => db.selectFrom('connect_accounts').selectAll().execute());
    expect(rows).to.have.length(2);
    expect(JSON.stringify(rows)).not.to.match(/provider-(access|refresh)-token|eyJ/);
  });

  it('notes who connects an account, who signs in through it, and who fails to', async () => {
    const entries = (await site.store.audit({ limit: 100 })).reverse();
    const own = entries.filter(({ detail }) => detail.through === 'Corp');
    const actor = `user:${site.operator.email}`;
    expect(own.map(({ actor, action, detail }) => ({ actor, action, detail }))).to.deep.equal([
      {
        actor: 'address:127.0.0.1',
        action: 'account.sign_in_failed',
        detail: { through: 'Corp' },
      },
      { actor, action: 'account.connect', detail: { through: 'Corp', account: '"person-1"' } },
      { actor, action: 'account.sign_in', detail: { address: '127.0.0.1', through: 'Corp' } },
    ]);
    const browser = await signedIn(site.url, site.operator);
    const { html } = await browser.get('/audit');
    for (const said of ['connected an account', 'signed in', 'failed to sign in']) {
      expect(html).to.include(said);
    }
  });

  it('takes an answer once, and only in the browser that asked', async () => {
    const browser = createBrowserLike(site.url);
    const { location } = await browser.get('/sign-in/oidc');
    const answer = await fetch(location ?? '', { redirect: 'manual' });
    const back = new URL(answer.headers.get('location') ?? '');
    const other = createBrowserLike(site.url);
    expect((await other.get(back.pathname + back.search)).location).to.include('/sign-in?failed=1');
    expect((await other.get('/overview')).status).to.equal(303);
    for (const query of ['', '?code=x', '?state=x', '?error=access_denied', '?code=x&state=y']) {
      const page = await createBrowserLike(site.url).get(`/auth/callback/oidc${query}`);
      expect([page.status, page.location], query).to.deep.equal([303, '/sign-in?failed=1']);
    }
  });

  it('keeps nothing of a way to the provider, and gives one address so many of them', async () => {
    const { issuer } = provider;
    const oidc = { issuer, clientId: 'gateway', clientSecret: 'shh', name: 'Corp' };
    await withTestSite({ oidc, proxies: 1 }, async (busy) => {
      const ask = (address: string) =>
        fetch(`${busy.url}/sign-in/oidc`, { redirect: 'manual', headers: { 'x-forwarded-for': address } });
      const answers = await Promise.all(Array.from({ length: 70 }, () => ask('192.0.2.1')));
      expect(answers.filter(({ status }) => status === 303)).to.have.length(60);
      const refused = answers.find(({ status }) => status === 429);
      expect(Number(refused?.headers.get('retry-after'))).to.be.within(1, 600);
      expect((await ask('192.0.2.2')).status).to.equal(303);
      const rows = await busy.connect.run((db) =>
        db.selectFrom('connect_verifications').selectAll().execute(),
      );
      expect(rows).to.deep.equal([]);
      const cookies = answers.map(({ headers }) => headers.getSetCookie().join()).join();
      expect(cookies).to.match(/oauth_state=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax/);
      const callback = () =>
        fetch(`${busy.url}/auth/callback/oidc?code=x&state=y`, {
          redirect: 'manual',
          headers: { 'x-forwarded-for': '192.0.2.3' },
        });
      const returns = await Promise.all(Array.from({ length: 40 }, callback));
      expect(returns.filter(({ status }) => status === 429)).to.have.length(10);
    });
  });

  it('connects an account in its own session alone, whoever could read the database', async () => {
    const victim = await site.connect.run((db) =>
      db.selectFrom('connect_users').selectAll().where('email', '=', site.operator.email).executeTakeFirst(),
    );
    const settings = await site.connect.run((db) =>
      db.selectFrom('connect_settings').select('value').where('name', '=', 'secret').executeTakeFirst(),
    );
    provider.person = { sub: 'reader-of-a-backup', email: 'eve@evil.example', email_verified: true };
    const browser = createBrowserLike(site.url);
    const { location } = await browser.get('/sign-in/oidc');
    const [name, sealed] = [...browser.cookies].find(([cookie]) => cookie.includes('oauth_state')) ?? [];
    const key = Buffer.from(
      hkdfSync(
        'sha256',
        settings?.value ?? '',
        'better-auth:oauth-encryption:v1',
        'better-auth:oauth-state-cookie:v1',
        32,
      ),
    ).toString('hex');
    const state = JSON.parse(await symmetricDecrypt({ key, data: decodeURIComponent(sealed ?? '') }));
    const link = { userId: victim?.id, email: site.operator.email };
    const forged = await symmetricEncrypt({ key, data: JSON.stringify({ ...state, link }) });
    browser.cookies.set(name ?? '', encodeURIComponent(forged));
    await visit(browser, location);
    const rows = await site.connect.run((db) =>
      db.selectFrom('connect_accounts').select(['accountId', 'userId']).execute(),
    );
    expect(rows.map(({ accountId }) => accountId)).not.to.include('reader-of-a-backup');
  });

  it('leaves the password as a way in while the provider does not answer', async () => {
    const oidc = { issuer: 'http://127.0.0.1:1', clientId: 'gateway', clientSecret: 'shh', name: 'Corp' };
    await withTestSite({ oidc }, async (alone) => {
      const browser = await signedIn(alone.url, alone.operator);
      expect((await browser.get('/overview')).status).to.equal(200);
      expect((await createBrowserLike(alone.url).get('/sign-in/oidc')).location).to.equal(
        '/sign-in?failed=1',
      );
    });
  });

  it('is not there where no provider is set', async () => {
    await withTestSite({}, async (plain) => {
      const browser = await signedIn(plain.url, plain.operator);
      expect((await browser.get('/account')).html).not.to.include('/account/oidc');
      for (const path of ['/sign-in/oidc', '/auth/callback/oidc?code=x&state=y']) {
        expect((await browser.get(path)).status, path).to.equal(404);
      }
    });
  });
});

describe('site: when signing in through an identity provider goes wrong', () => {
  let provider: IdentityProvider;
  let site: TestSite;
  beforeEach(async () => {
    // Of its own in each test: a provider's keys are kept once they were read.
    provider = await createIdentityProvider();
    const { issuer } = provider;
    site = await openTestSite({ oidc: { issuer, clientId: 'gateway', clientSecret: 'shh', name: 'Corp' } });
  });
  afterEach(async () => {
    await site.close();
    await provider.close();
  });

  const run = (statement: string) => sql.raw(statement).execute(site.connect.handle);
  const breakAudit = () =>
    run(`create trigger no_audit before insert on audit begin select raise(abort, 'no'); end`);

  async function setOut() {
    const browser = createBrowserLike(site.url);
    return { browser, location: (await browser.get('/sign-in/oidc')).location };
  }

  it('connects no account, and lets nobody in, where that cannot be noted', async () => {
    const operator = await signedIn(site.url, site.operator);
    const connect = async () => comeBack(operator, await setOutToConnect(operator), site.url);
    const connected = () =>
      site.connect.run((db) =>
        db.selectFrom('connect_accounts').select('id').where('providerId', '=', 'oidc').execute(),
      );
    await breakAudit();
    expect((await connect()).status).to.equal(500);
    expect(await connected()).to.deep.equal([]);
    await run('drop trigger no_audit');
    expect((await connect()).location).to.equal('/account?connected=1');
    expect(await connected()).to.have.length(1);
    await breakAudit();
    const { browser, location } = await setOut();
    expect((await comeBack(browser, location, site.url)).status).to.equal(500);
    expect((await browser.get('/overview')).status).to.equal(303);
  });

  for (const fault of ['no token', 'token is garbage', 'no keys', 'identity is garbage'] as const) {
    it(`says that the provider did not answer: ${fault}`, async () => {
      const { browser, location } = await setOut();
      provider.fault = fault;
      const page = await comeBack(browser, location, site.url);
      expect(page.status).to.equal(502);
      expect(page.html).to.include('Corp did not answer as it should').and.include('href="/sign-in"');
      expect(site.logs.join('')).to.include('upstream_failed').and.not.include('keys_unavailable');
    });
  }

  it('does not blame the provider for a code that it refuses, nor for what a visitor makes up', async () => {
    const { browser, location } = await setOut();
    provider.fault = 'refuses codes';
    expect((await comeBack(browser, location, site.url)).location).to.equal('/sign-in?failed=1');
    const other = await setOut();
    const state = new URL(other.location ?? '').searchParams.get('state');
    for (const error of ['unable_to_get_user_info', 'invalid_code']) {
      const made = await other.browser.get(`/auth/callback/oidc?error=${error}&state=${state}`);
      expect([made.status, made.location], error).to.deep.equal([303, '/sign-in?failed=1']);
    }
  });

  it('says that the database does not answer where it is that', async () => {
    const { browser, location } = await setOut();
    await site.connect.handle.destroy();
    const page = await comeBack(browser, location, site.url);
    expect(page.status).to.equal(503);
    expect(page.html).to.include('The database does not answer');
  });
});
