import { request } from 'node:http';
import { expect } from 'chai';
import { pageRoutes } from '../../../gateway/site/app.js';
import type { Access, PageRoute } from '../../../gateway/site/page.js';
import { type BrowserLike, createBrowserLike, hiddenFields, type Page, signedIn } from './browser-like.js';
import { join } from './members.js';
import { operatorToken, sampleJob, useTestSite, withTestSite } from './test-site.js';

type Role = 'anonymous' | 'member of acme' | 'member of globex' | 'operator';

/** Who may have what below `/tenants/acme`: written out, so that a new kind of access has to be thought about here. */
const allowed: Record<Access, readonly Role[]> = {
  anyone: ['anonymous', 'member of acme', 'member of globex', 'operator'],
  user: ['member of acme', 'member of globex', 'operator'],
  tenant: ['member of acme', 'operator'],
  operator: ['operator'],
};

describe('site: every route for every role', () => {
  const site = useTestSite();
  let key: { id: string };
  let browsers: Record<Role, BrowserLike>;
  before(async () => {
    await site.admin.createTenant('acme', 'test');
    await site.admin.createTenant('globex', 'test');
    site.jobs.push(sampleJob((await site.admin.tenant('acme')).id));
    key = await site.admin.issueKey('acme', { label: 'of acme' }, 'test');
    browsers = {
      anonymous: createBrowserLike(site.url),
      'member of acme': await join(site, 'acme', 'ada@acme.example'),
      'member of globex': await join(site, 'globex', 'bob@globex.example'),
      operator: await signedIn(site.url, site.operator),
    };
  });

  const pathOf = (route: PageRoute) =>
    route.path
      .replace(':tenant', 'acme')
      .replace(':key', key.id)
      .replace(':job', 'job_4fGhJ2kLm9pQ')
      .replace(':token', 'no-such-invitation')
      .replace(/:\w+/g, 'nobody');

  /** With a form token that is right, so that what refuses is the rule of the route and nothing before it. */
  async function ask(role: Role, route: PageRoute): Promise<Page> {
    const browser = browsers[role];
    if (route.method === 'GET') return browser.get(pathOf(route));
    const page = await browser.get(role === 'anonymous' ? '/sign-in' : '/account');
    const action = role === 'anonymous' ? '/sign-in' : '/sign-out';
    const { _token = '' } = hiddenFields(page.html, action);
    return browser.post(pathOf(route), { _token });
  }

  it('puts everything below a tenant under a rule that asks whose it is', () => {
    for (const { path, access } of pageRoutes) {
      expect(Object.keys(allowed)).to.include(access);
      if (path.includes(':tenant')) expect(['tenant', 'operator'], path).to.include(access);
    }
  });

  for (const route of pageRoutes.filter(({ access }) => access !== 'anyone')) {
    for (const role of allowed.anyone) {
      const may = allowed[route.access].includes(role);
      it(`${may ? 'lets' : 'refuses'} ${role}: ${route.method} ${route.path}`, async () => {
        if (may && route.method === 'POST') {
          // Without a token it gets as far as the check of the form and no further: so every form has that check too.
          const page = await browsers[role].post(pathOf(route), {});
          expect(page.status).to.equal(403);
          expect(page.html).to.include('This form is out of date');
          return;
        }
        const page = await ask(role, route);
        if (may) {
          expect(page.status).to.be.oneOf([200, 303]);
          expect(page.location ?? '').not.to.include('/sign-in');
        } else if (role === 'anonymous' && route.method === 'GET') {
          expect(page.status).to.equal(303);
          expect(page.location).to.match(/^\/sign-in\?next=%2F/);
        } else if (role === 'anonymous') {
          expect(page.status).to.equal(401);
        } else {
          expect(page.status).to.be.oneOf([403, 404]);
          expect(page.html).not.to.include('of acme');
        }
      });
    }
  }

  it('says the same of another tenant as of one that is not there', async () => {
    const other = await browsers['member of globex'].get('/tenants/acme');
    const none = await browsers['member of globex'].get('/tenants/nobody');
    const scrub = (page: Page) =>
      page.html.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '').replace(/value="[^"]*"/g, '');
    expect(other.status).to.equal(404);
    expect(scrub(other)).to.equal(scrub(none));
  });

  it("does not open another tenant's key under one's own tenant", async () => {
    const browser = browsers['member of globex'];
    expect((await browser.get(`/tenants/globex/keys/${key.id}`)).status).to.equal(404);
    const { html } = await browser.get('/account');
    const { _token = '' } = hiddenFields(html, '/sign-out');
    for (const page of ['sign', 'rotate-signing', 'signing-secret'])
      expect((await browser.get(`/tenants/globex/keys/${key.id}/${page}`)).status, page).to.equal(404);
    for (const action of ['rotate', 'end-grace', 'revoke', 'sign', 'signing-secret', 'rotate-signing']) {
      const fields = {
        _token,
        _once: `mark-${action}`,
        grace_seconds: '0',
        url: '/media/add-border',
        expires: '1',
      };
      const page = await browser.post(`/tenants/globex/keys/${key.id}/${action}`, fields);
      expect(page.status, action).to.equal(404);
    }
    const { keys } = await site.admin.listKeys('acme');
    expect(keys.map(({ state, secrets }) => [state, secrets.length])).to.deep.equal([['active', 1]]);
  });

  it('shuts out a removed member at their next request', async () => {
    const member = await join(site, 'acme', 'eve@acme.example');
    expect((await member.get('/tenants/acme')).status).to.equal(200);
    const { operator } = browsers;
    const { html } = await operator.get('/tenants/acme/members');
    const row = html.split('<tr>').find((part) => part.includes('eve@acme.example')) ?? '';
    const action = /action="([^"]+)"/.exec(row)?.[1] ?? '';
    expect((await operator.submit(action)).status).to.equal(303);
    expect((await member.get('/tenants/acme')).status).to.equal(404);
    expect((await member.get('/account')).html).to.include('You are a member of no tenant');
  });

  it('keeps the last operator', async () => {
    const { operator } = browsers;
    const { html } = await operator.get('/operators');
    expect(html).not.to.include('/remove"');
    const { _token = '' } = hiddenFields(html, '/sign-out');
    const [only] = await site.connect.run((db) => db.selectFrom('connect_operators').selectAll().execute());
    const page = await operator.post(`/operators/${only?.user_id}/remove`, { _token });
    expect(page.status).to.equal(403);
    expect((await operator.get('/overview')).status).to.equal(200);
  });
});

describe('site: guards of the pages', () => {
  const site = useTestSite();

  it('sends a policy that allows nothing inline, and keeps pages out of frames and caches', async () => {
    for (const path of ['/sign-in', '/nowhere', '/overview']) {
      const { headers } = await fetch(`${site.url}${path}`, { redirect: 'manual' });
      expect(headers.get('content-security-policy')).to.equal(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('cache-control')).to.equal('no-store');
    }
  });

  it('has nothing inline on its pages', async () => {
    const browser = await signedIn(site.url, site.operator);
    for (const path of ['/overview', '/tenants', '/audit', '/account', '/operators']) {
      const { html } = await browser.get(path);
      expect(html).not.to.match(/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)/);
    }
  });

  it('serves its files to be kept for ever under a name that changes with them', async () => {
    const { html } = await createBrowserLike(site.url).get('/sign-in');
    for (const [name, type] of [
      ['site.css', 'text/css'],
      ['site.js', 'text/javascript'],
      ['icon.svg', 'image/svg+xml'],
    ]) {
      const path = new RegExp(`/assets/[0-9a-f]{12}/${name}`).exec(html)?.[0];
      const answer = await fetch(`${site.url}${path}`);
      expect(answer.headers.get('content-type')).to.match(new RegExp(`^${type?.replace('+', '\\+')}`));
      expect(answer.headers.get('cache-control')).to.include('immutable');
    }
    for (const path of ['/assets/x/app.ts', '/assets/x/..%2f..%2fapp.ts', '/assets/x/constructor']) {
      expect((await fetch(`${site.url}${path}`)).status, path).to.equal(404);
    }
  });

  it('logs a page at info, and the files that it brings along at debug', async () => {
    const { html } = await createBrowserLike(site.url).get('/sign-in');
    const before = site.logs.length;
    await (await fetch(`${site.url}/sign-in`)).text();
    await (await fetch(`${site.url}${/\/assets\/[0-9a-f]{12}\/site.css/.exec(html)?.[0]}`)).text();
    const lines = site.logs.slice(before).map((line) => JSON.parse(line));
    const level = (route: string) => lines.find((line) => line.route === route)?.level;
    expect([level('/sign-in'), level('/assets')]).to.deep.equal([30, 20]);
  });

  it('takes a form from its own pages alone', async () => {
    const browser = await signedIn(site.url, site.operator);
    const token = async () => hiddenFields((await browser.get('/tenants')).html, '/tenants')._token ?? '';
    const send = async (headers: Record<string, string>, _token: string) =>
      (await browser.post('/tenants', { _token, name: `t${Math.random().toString(36).slice(2)}` }, headers))
        .status;
    expect(await send({}, await token())).to.equal(303);
    expect(await send({ origin: site.url, 'sec-fetch-site': 'same-origin' }, await token())).to.equal(303);
    expect(await send({ origin: 'null', 'sec-fetch-site': 'same-origin' }, await token())).to.equal(303);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:1' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ]) {
      expect(await send(headers as Record<string, string>, await token()), JSON.stringify(headers)).to.equal(
        403,
      );
    }
    expect(await send({}, '')).to.equal(403);
    expect(await send({}, `${(await token()).slice(1)}A`)).to.equal(403);
    const other = createBrowserLike(site.url);
    const stranger = hiddenFields((await other.get('/sign-in')).html, '/sign-in')._token ?? '';
    expect(await send({}, stranger)).to.equal(403);
  });

  it("refuses a sign-in form that another browser's page made", async () => {
    const stranger = createBrowserLike(site.url);
    const { _token = '' } = hiddenFields((await stranger.get('/sign-in')).html, '/sign-in');
    const victim = createBrowserLike(site.url);
    const page = await victim.post('/sign-in', { ...site.operator, _token });
    expect(page.status).to.equal(403);
    expect(page.headers.getSetCookie().join()).not.to.include('session_token');
  });

  it('refuses names that are not its own, in which another site could dress up', async () => {
    const status = (host: string, path = '/sign-in') =>
      new Promise<number>((resolve, reject) => {
        request(new URL(path, site.url), { headers: { host } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
    for (const host of ['localhost:8081', '127.0.0.1', '[::1]:8081', '192.0.2.7:8081', 'LOCALHOST']) {
      expect(await status(host), host).to.equal(200);
    }
    for (const host of [
      'evil.example',
      'evil.example:8081',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'a b',
    ]) {
      expect(await status(host), host).to.equal(403);
    }
    expect(await status('gateway:8081', '/api/tenants')).to.equal(401);
  });

  it('answers what it cannot read with a page, not a fault', async () => {
    const browser = await signedIn(site.url, site.operator);
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const post = (body: string | Buffer<ArrayBuffer>, type: string) =>
      fetch(`${site.url}/tenants`, { method: 'POST', body, headers: { cookie, 'content-type': type } });
    const form = 'application/x-www-form-urlencoded';
    expect((await post('name=a&name=b', form)).status).to.equal(400);
    expect((await post('name=%zz', form)).status).to.equal(400);
    expect((await post(Buffer.from([0x61, 0xff]), form)).status).to.equal(400);
    expect((await post('{}', 'application/json')).status).to.equal(415);
    expect((await post(`name=${'a'.repeat(70_000)}`, form)).status).to.equal(413);
    for (const path of [
      '/tenants?after=%00',
      '/audit?before=x',
      '/keys?after=%zz',
      '/tenants/acme%00',
      '/%',
      '/tenants/%ff',
    ]) {
      const { status } = await browser.get(path);
      expect(status, path).to.be.oneOf([200, 400, 404]);
    }
    expect((await fetch(`${site.url}/sign-in`, { method: 'DELETE' })).status).to.equal(405);
  });
});

describe('the key-management site without a script', () => {
  const site = useTestSite();

  it('leads the first operator from signing in to a key that works', async () => {
    const browser = await signedIn(site.url, site.operator);
    const home = await browser.get('/overview');
    expect(home.status).to.equal(200);
    expect(home.html).to.include('No tenants yet');
    await browser.get('/tenants');
    const created = await browser.submit('/tenants', { name: 'acme' });
    expect(created.location).to.equal('/tenants/acme');
    await browser.get('/tenants/acme');
    const issued = await browser.submit('/tenants/acme/keys', { label: 'billing', 'scope:text/*': 'on' });
    expect(issued.status).to.equal(200);
    const key = /hg_\w+/.exec(issued.html)?.[0] ?? '';
    expect(await site.verifier.verify(key)).to.have.property('state', 'active');
  });
});

describe('site: while the database is away', () => {
  it('says so, on pages and to programs, and tells the reason to the log alone', async () => {
    await withTestSite({}, async (site) => {
      const browser = await signedIn(site.url, site.operator);
      const guest = createBrowserLike(site.url);
      await guest.get('/sign-in');
      await site.connect.handle.destroy();
      const page = await browser.get('/overview');
      expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5']);
      expect(page.html).to.include('The database does not answer').and.not.to.include('destroyed');
      const signIn = await guest.submit('/sign-in', { ...site.operator });
      expect(signIn.status).to.equal(503);
      expect(site.logs.join('')).to.include('keys_unavailable').and.include('destroyed');
      await site.store.close();
      const answer = await fetch(`${site.url}/api/tenants`, {
        headers: { authorization: `Bearer ${operatorToken}` },
      });
      expect(answer.status).to.equal(503);
      expect((await answer.json()).error).to.deep.equal({
        code: 'keys_unavailable',
        message: 'The database of this gateway does not answer at the moment.',
      });
    });
  });
});
