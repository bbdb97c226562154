import { expect } from 'chai';
import { sql } from 'kysely';
import { createBrowserLike, signedIn } from './browser-like.js';
import { createIdentityProvider, type IdentityProvider } from './identity-provider.js';
import { openTestSite, type TestSite } from './test-site.js';
import { comeBack, setOutToConnect } from './through-provider.js';

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
