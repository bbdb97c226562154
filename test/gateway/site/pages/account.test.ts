import { expect } from 'chai';
import { Secret, TOTP } from 'otpauth';
import { type BrowserLike, createBrowserLike, hiddenFields, signedIn } from '../browser-like.js';
import { goodPassword, join } from '../members.js';
import { useTestSite, withTestSite } from '../test-site.js';

const stepMs = 30_000;

/** The code of a secret as its page shows it, at a time. */
const codeAt = (secret: string, timestamp: number) =>
  new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) }).generate({ timestamp });
const secretOn = (html: string) => /<pre id="secret">([^<]+)</.exec(html)?.[1] ?? '';

describe('site: the second factor of an account', () => {
  let now = Date.now();
  const site = useTestSite({ now: () => now, proxies: 1 });
  before(async () => {
    await site.admin.createTenant('acme', 'test');
  });

  const setUp = '/account/second-factor';
  /** Turns it on; each step of the clock has one code. */
  async function turnOn(browser: BrowserLike): Promise<{ secret: string; codes: string[] }> {
    now += stepMs;
    const { html } = await browser.get(setUp);
    const secret = secretOn(html);
    const shown = await browser.submit(setUp, { code: codeAt(secret, now) });
    expect(shown.status).to.equal(200);
    return { secret, codes: /<pre id="codes">([^<]+)</.exec(shown.html)?.[1]?.split('\n') ?? [] };
  }
  async function enterPassword(email: string, address = '192.0.2.1') {
    const browser = createBrowserLike(site.url);
    await browser.get('/sign-in');
    const headers = { 'x-forwarded-for': address };
    const page = await browser.submit('/sign-in', { email, password: goodPassword }, headers);
    const enter = (code: string) => browser.submit('/sign-in/code', { code }, headers);
    return { browser, page, enter };
  }

  it('shows a QR code under the policy of the site, keeps its secret after a wrong code, and ten codes once', async () => {
    const browser = await join(site, 'acme', 'ada@acme.example');
    const { html } = await browser.get(setUp);
    expect(html)
      .to.match(/<svg class="qr"[^>]*viewBox/)
      .and.not.match(/<style|\sstyle=/);
    const wrong = await browser.submit(setUp, { code: '123' });
    expect(wrong.html).to.include('Code is not the one of this moment');
    expect(secretOn(wrong.html)).to.equal(secretOn(html));
    const { codes } = await turnOn(browser);
    expect(codes).to.have.length(10);
    expect((await browser.get(setUp)).html)
      .to.include('10 of your recovery codes')
      .and.not.include(codes[0]);
  });

  it('is asked for after the password, and before it there is no session', async () => {
    const { secret } = await turnOn(await join(site, 'acme', 'bob@acme.example'));
    now += 5 * stepMs;
    const { browser, page } = await enterPassword('bob@acme.example');
    expect(page.status).to.equal(200);
    expect(browser.cookies.has('hg_session')).to.equal(false);
    expect((await browser.get('/account')).status).to.equal(303);
    const again = await enterPassword('bob@acme.example');
    expect((await again.enter('000000')).html).to.include('Code is wrong, or was used before');
    expect((await again.enter(codeAt(secret, now))).status).to.equal(303);
    expect((await again.browser.get('/account')).status).to.equal(200);
    const replayed = await enterPassword('bob@acme.example');
    expect((await replayed.enter(codeAt(secret, now))).status).to.equal(401);
  });

  it('ends what waits for a code after ten minutes, and with a new password', async () => {
    const member = await join(site, 'acme', 'cy@acme.example');
    const { secret } = await turnOn(member);
    const late = await enterPassword('cy@acme.example');
    now += 601_000;
    expect((await late.enter(codeAt(secret, now))).html).to.include('This sign-in has ended');
    const waiting = await enterPassword('cy@acme.example');
    await member.get('/account');
    const password = 'another long password';
    const changed = await member.submit('/account/password', {
      ...{ current: goodPassword, password, again: password },
    });
    expect(changed.status).to.equal(303);
    expect((await waiting.enter(codeAt(secret, now))).html).to.include('This sign-in has ended');
  }).timeout(10_000);

  it('slows down guesses of codes, wherever the password is known', async () => {
    await turnOn(await join(site, 'acme', 'dan@acme.example'));
    const statuses: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      const { enter } = await enterPassword('dan@acme.example', `192.0.2.${10 + n}`);
      statuses.push((await enter('000000')).status);
    }
    expect(statuses.slice(0, 10)).to.deep.equal(Array(10).fill(401));
    expect(statuses.slice(10)).to.deep.equal([429, 429]);
  });

  it('is turned off by password and code together', async () => {
    const browser = await join(site, 'acme', 'fay@acme.example');
    const { codes } = await turnOn(browser);
    const off = async (confirm: string, code: string) => {
      await browser.get(setUp);
      return browser.submit(`${setUp}/off`, { confirm, code });
    };
    expect((await off('wrong password', codes[0] ?? '')).html).to.include('Your password is wrong');
    expect((await off(goodPassword, '000000')).html).to.include('Code is wrong');
    expect((await off(goodPassword, codes[0] ?? '')).status).to.equal(303);
    expect((await enterPassword('fay@acme.example')).page.status).to.equal(303);
  });

  it('is ended by an operator for who has lost the phone', async () => {
    await turnOn(await join(site, 'acme', 'gus@acme.example'));
    const operator = await signedIn(site.url, site.operator);
    const { html } = await operator.get('/people?q=gus');
    const path = /href="(\/tenants\/acme\/members\/[\w-]+\/second-factor)"/.exec(html)?.[1] ?? '';
    expect((await operator.get(path)).html).to.include('End the second factor of gus@acme.example?');
    expect((await operator.submit(path)).location).to.equal('/tenants/acme/members?done=factor');
    expect((await enterPassword('gus@acme.example')).page.status).to.equal(303);
  });
});

describe('site: HELPER_SECOND_FACTOR', () => {
  it('leads who must have a second factor to set it up, and lets them do nothing before', async () => {
    for (const secondFactor of ['operators', 'all'] as const)
      await withTestSite({ secondFactor }, async (site) => {
        await site.admin.createTenant('acme', 'test');
        const operator = await signedIn(site.url, site.operator);
        for (const path of ['/', '/overview', '/account', '/tenants/acme'])
          expect((await operator.get(path)).location, path).to.equal('/account/second-factor');
        const page = await operator.get('/account/second-factor');
        expect(page.html).to.include('This gateway asks for a second factor');
        const { status } = await operator.submit('/search', { q: 'acme' });
        expect(status).to.equal(403);
        const code = codeAt(secretOn((await operator.get('/account/second-factor')).html), Date.now());
        await operator.submit('/account/second-factor', { code });
        expect((await operator.get('/overview')).status).to.equal(200);
        const member = await join(site, 'acme', 'ada@acme.example');
        const isLed = (await member.get('/tenants/acme')).location !== null;
        expect(isLed).to.equal(secondFactor === 'all');
        const cookie = [...member.cookies].map((pair) => pair.join('=')).join('; ');
        const api = await fetch(`${site.url}/api/tenants/acme/recipes`, { headers: { cookie } });
        expect(api.status).to.equal(secondFactor === 'all' ? 403 : 200);
      });
  });
});

describe('site: an account', () => {
  const site = useTestSite();
  before(async () => {
    await site.admin.createTenant('acme', 'test');
  });

  it('lists its sessions, of which each can be ended from another', async () => {
    const here = await signedIn(site.url, site.operator);
    const there = await signedIn(site.url, site.operator);
    const { html } = await here.get('/account');
    expect(html).to.include('this one');
    const path = /action="(\/account\/sessions\/\w+\/end)"/.exec(html)?.[1] ?? '';
    const other = await join(site, 'acme', 'ada@acme.example');
    const { _token = '' } = hiddenFields((await other.get('/account')).html, '/sign-out');
    await other.post(path, { _token });
    expect((await there.get('/account')).status, "another's form ends nothing").to.equal(200);
    await here.get('/account');
    expect((await here.submit(path)).status).to.equal(303);
    expect((await there.get('/account')).status).to.equal(303);
    expect((await here.get('/account')).status).to.equal(200);
    const { entries } = await site.admin.audit({ limit: 1 });
    expect(entries[0]).to.include({ action: 'account.end_session', actor: 'user:operator@gateway.local' });
  });

  it('changes its name freely and its e-mail by the password, which invitations follow', async () => {
    const operator = await signedIn(site.url, site.operator);
    await operator.get('/people');
    const invited = await operator.submit('/people/invitations', { note: 'Eve', role: 'support' });
    const link = /\/join\/[\w-]+/.exec(invited.html)?.[0] ?? '';
    const rename = async (fields: Record<string, string>) => {
      await operator.get('/account');
      return operator.submit('/account/profile', { name: '', email: site.operator.email, ...fields });
    };
    expect((await rename({ name: 'Grace' })).location).to.equal('/account?done=profile');
    const email = 'Grace@gateway.example';
    expect((await rename({ email })).html).to.include('Your password is wrong');
    const confirm = site.operator.password;
    const taken = await rename({ email: 'ada@acme.example', confirm });
    expect(taken.html).to.include('E-mail is that of another account');
    expect((await rename({ email: 'none', confirm })).html).to.include('must be an e-mail address');
    expect((await rename({ name: 'Grace', email, confirm })).status).to.equal(303);
    const { entries } = await site.admin.audit({ limit: 1 });
    expect(entries[0]).to.deep.include({
      ...{ action: 'account.rename', actor: 'user:operator@gateway.local' },
      detail: { name: 'Grace', email: email.toLowerCase(), before: 'operator@gateway.local' },
    });
    expect((await createBrowserLike(site.url).get(link)).html).to.include('invited as support staff');
    const back = await signedIn(site.url, { email, password: confirm });
    expect((await back.get('/account')).html).to.include('grace@gateway.example');
  });
});
