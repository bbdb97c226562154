import { request } from 'node:http';
import { expect } from 'chai';
import { createTokens } from '../../../gateway/site/accounts/tokens.js';
import { pageRoutes } from '../../../gateway/site/app.js';
import type { Access, PageRoute } from '../../../gateway/site/page.js';
import { type BrowserLike, createBrowserLike, hiddenFields, type Page, signedIn } from './browser-like.js';
import { join, operatorNamed } from './members.js';
import { operatorToken, sampleJob, useTestSite, withTestSite } from './test-site.js';

const roles = [
  'anonymous',
  'member of acme',
  'viewer of acme',
  'member of globex',
  'support',
  'operator',
] as const;
type Role = (typeof roles)[number];

/** Who may have what below `/tenants/acme`: written out, so that a new kind of access has to be thought about here. */
const allowed: Record<Access, Record<PageRoute['method'], readonly Role[]>> = {
  anyone: { GET: roles, POST: roles },
  user: { GET: roles.slice(1), POST: roles.slice(1) },
  tenant: {
    GET: ['member of acme', 'viewer of acme', 'support', 'operator'],
    POST: ['member of acme', 'operator'],
  },
  operator: { GET: ['support', 'operator'], POST: ['operator'] },
};

describe('site: every route for every role', () => {
  const site = useTestSite();
  let key: { id: string };
  /** The id of an API token. */
  let token: string;
  let browsers: Record<Role, BrowserLike>;
  /** Ids by e-mail. */
  let users: Record<string, string>;
  before(async () => {
    const acme = await site.admin.createTenant('acme', 'test');
    await site.admin.createTenant('globex', 'test');
    site.jobs.push(sampleJob(acme.id));
    key = await site.admin.issueKey('acme', { label: 'of acme' }, 'test');
    const made = await createTokens(site.connect).create({ label: 'of acme', role: 'support' }, 'cli:test');
    token = made.id;
    await site.admin.putPlan('team', {}, 'test');
    await site.admin.putRecipe('acme', 'card', { summary: 'of acme', steps: [] }, 'test');
    browsers = {
      anonymous: createBrowserLike(site.url),
      'member of acme': await join(site, 'acme', 'ada@acme.example'),
      'viewer of acme': await join(site, 'acme', 'vic@acme.example', 'viewer'),
      'member of globex': await join(site, 'globex', 'bob@globex.example'),
      support: await join(site, null, 'sue@gateway.example', 'support'),
      operator: await signedIn(site.url, site.operator),
    };
    const rows = await site.connect.run((db) =>
      db.selectFrom('connect_users').select(['id', 'email']).execute(),
    );
    users = Object.fromEntries(rows.map(({ id, email }) => [email, id]));
  });

  const pathOf = ({ path }: PageRoute) =>
    path
      .replace(':tenant', 'acme')
      .replace(':key', key.id)
      .replace(':job', 'job_4fGhJ2kLm9pQ')
      .replace(':recipe', 'card')
      .replace(':plan', 'team')
      .replace(':token', token)
      .replace(':user', users[path.startsWith('/people') ? 'sue@gateway.example' : 'vic@acme.example'] ?? '')
      .replace(/:\w+/g, 'nobody');

  /** The token of this browser's forms, so that what refuses is the rule of the route and nothing before it. */
  async function tokenOf(role: Role): Promise<string> {
    const [page, action] = role === 'anonymous' ? ['/sign-in', '/sign-in'] : ['/account', '/sign-out'];
    return hiddenFields((await browsers[role].get(page)).html, action)._token ?? '';
  }

  it('puts everything below a tenant under a rule that asks whose it is', () => {
    for (const { path, access } of pageRoutes) {
      expect(Object.keys(allowed)).to.include(access);
      if (path.includes(':tenant')) expect(['tenant', 'operator'], path).to.include(access);
    }
  });

  for (const route of pageRoutes.filter(({ access }) => access !== 'anyone')) {
    const { method, path, access } = route;
    for (const role of roles) {
      const may = allowed[access][method].includes(role);
      it(`${may ? 'lets' : 'refuses'} ${role}: ${method} ${path}`, async () => {
        const browser = browsers[role];
        if (may && method === 'POST') {
          // Without a token it gets as far as the check of the form and no further: so every form has that check too.
          const page = await browser.post(pathOf(route), {});
          expect(page.status).to.equal(403);
          expect(page.html).to.include('This form is out of date');
          return;
        }
        const { status, location, html } =
          method === 'GET'
            ? await browser.get(pathOf(route))
            : await browser.post(pathOf(route), { _token: await tokenOf(role) });
        if (may) expect(status).to.be.oneOf([200, 303]);
        else if (role !== 'anonymous') expect(status).to.be.oneOf([403, 404]);
        else expect(status).to.equal(method === 'GET' ? 303 : 401);
        if (may) expect(location ?? '').not.to.include('/sign-in');
        else if (status === 303) expect(location).to.match(/^\/sign-in\?next=%2F/);
        else if (!allowed[access].GET.includes(role)) expect(html).not.to.include('of acme');
      });
    }
  }

  it('shows no form to who may change nothing, and no secret', async () => {
    const readers = { operator: 'support', tenant: 'viewer of acme' } as const;
    for (const route of pageRoutes) {
      const reader = readers[route.access as keyof typeof readers];
      if (route.method !== 'GET' || !reader) continue;
      const { html } = await browsers[reader].get(pathOf(route));
      const actions = [...html.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action);
      expect(actions, route.path).to.have.members(html.includes('<form') ? ['/search', '/sign-out'] : []);
      expect(html, route.path).not.to.match(/whsec_|hgs_|hgt_/);
    }
  });

  it('says the same of another tenant as of one that is not there', async () => {
    const scrubbed = async (path: string) => {
      const { status, html } = await browsers['member of globex'].get(path);
      return [status, html.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '').replace(/value="[^"]*"/g, '')];
    };
    expect(await scrubbed('/tenants/acme')).to.deep.equal(await scrubbed('/tenants/nobody'));
  });

  it("does not open another tenant's key", async () => {
    const browser = browsers['member of globex'];
    const base = `/keys/${key.id}`;
    for (const page of ['', '/sign', '/rotate-signing', '/signing-secret'])
      expect((await browser.get(base + page)).status, page).to.equal(404);
    const fields = { grace_seconds: '0', url: '/media/add-border', expires: '1' };
    const _token = await tokenOf('member of globex');
    for (const action of ['rotate', 'end-grace', 'revoke', 'sign', 'signing-secret', 'rotate-signing']) {
      const page = await browser.post(`${base}/${action}`, { ...fields, _token, _once: `mark-${action}` });
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
    const action = /href="([^"]+\/remove)"/.exec(row)?.[1] ?? '';
    expect((await operator.get(action)).html).to.include('Remove eve@acme.example from acme?');
    expect((await operator.submit(action)).status).to.equal(303);
    expect((await member.get('/tenants/acme')).status).to.equal(404);
    expect((await member.get('/account')).html).to.include('You are a member of no tenant');
  });

  it('leads operators who remove themselves to what they may still see', async () => {
    const email = 'ann@gateway.example';
    const ann = await join(site, null, email);
    const { id } = await operatorNamed(site.connect, email);
    const { html } = await ann.get(`/people/${id}/remove`);
    expect(html).to.include('API tokens that they made');
    expect((await ann.submit(`/people/${id}/remove`)).location).to.equal('/');
    expect((await ann.get('/')).location).to.equal('/account');
  });

  it('keeps the last operator', async () => {
    const { operator } = browsers;
    const operators = await site.connect.run((db) =>
      db.selectFrom('connect_operators').selectAll().execute(),
    );
    const base = `/people/${operators[0]?.user_id}`;
    const { html } = await operator.get('/people');
    expect(html).not.to.include(`${base}/re`).and.not.to.include(`${base}/role`);
    const _token = await tokenOf('operator');
    for (const action of ['remove', 'role'])
      expect((await operator.post(`${base}/${action}`, { _token, role: 'support' })).status).to.equal(403);
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
      for (const [name, value] of [
        ['x-content-type-options', 'nosniff'],
        ['referrer-policy', 'no-referrer'],
        ['cache-control', 'no-store'],
      ] as const)
        expect(headers.get(name)).to.equal(value);
    }
    const browser = await signedIn(site.url, site.operator);
    for (const path of ['/overview', '/tenants', '/audit', '/account', '/people'])
      expect((await browser.get(path)).html).not.to.match(/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)/);
  });

  it('serves its files to be cached for ever under a name that changes with them, and logs them at debug', async () => {
    const { html } = await createBrowserLike(site.url).get('/sign-in');
    for (const [name, type] of [
      ['site.css', 'text/css; charset=utf-8'],
      ['site.js', 'text/javascript; charset=utf-8'],
      ['icon.svg', 'image/svg+xml'],
    ] as const) {
      const path = new RegExp(`/assets/[0-9a-f]{12}/${name}`).exec(html)?.[0];
      const { headers } = await fetch(`${site.url}${path}`);
      expect(headers.get('content-type')).to.equal(type);
      expect(headers.get('cache-control')).to.include('immutable');
    }
    for (const path of ['/assets/x/app.ts', '/assets/x/..%2f..%2fapp.ts', '/assets/x/constructor'])
      expect((await fetch(`${site.url}${path}`)).status, path).to.equal(404);
    const lines = site.logs.map((line) => JSON.parse(line));
    const level = (route: string) => lines.find((line) => line.route === route)?.level;
    expect([level('/sign-in'), level('/assets')]).to.deep.equal([30, 20]);
  });

  it('accepts a form from its own pages and browser alone', async () => {
    const browser = await signedIn(site.url, site.operator);
    const tokenIn = async (by: BrowserLike, page: string, action = page) =>
      hiddenFields((await by.get(page)).html, action)._token ?? '';
    const token = await tokenIn(browser, '/tenants/new', '/tenants');
    let count = 0;
    const send = async (headers: Record<string, string>, _token = token) => {
      count += 1;
      return (await browser.post('/tenants', { _token, name: `tenant-${count}` }, headers)).status;
    };
    const own = { origin: 'null', 'sec-fetch-site': 'same-origin' };
    for (const headers of [{}, own, { ...own, origin: site.url }]) expect(await send(headers)).to.equal(303);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:1' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[])
      expect(await send(headers), JSON.stringify(headers)).to.equal(403);
    const stranger = await tokenIn(createBrowserLike(site.url), '/sign-in');
    for (const wrong of ['', `${token.slice(1)}A`, stranger]) expect(await send({}, wrong)).to.equal(403);
    // Before signing in too: nobody is signed in to a stranger's account.
    const page = await createBrowserLike(site.url).post('/sign-in', { ...site.operator, _token: stranger });
    expect(page.status).to.equal(403);
    expect(page.headers.getSetCookie().join()).not.to.include('hg_session');
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
    for (const [expected, hosts] of [
      [200, ['localhost:8081', '127.0.0.1', '[::1]:8081', '192.0.2.7:8081', 'LOCALHOST']],
      [403, ['evil.example', 'evil.example:8081', '127.0.0.1.evil.example', 'localhost.evil.example', 'a b']],
    ] as const)
      for (const host of hosts) expect(await status(host), host).to.equal(expected);
    expect(await status('gateway:8081', '/api/tenants')).to.equal(401);
  });

  it('answers what it cannot read with a page, not a fault', async () => {
    const browser = await signedIn(site.url, site.operator);
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const form = 'application/x-www-form-urlencoded';
    for (const [status, body, type = form] of [
      [400, 'name=a&name=b'],
      [400, 'name=%zz'],
      [400, Buffer.from([0x61, 0xff])],
      [415, '{}', 'application/json'],
      [413, `name=${'a'.repeat(70_000)}`],
    ] as const) {
      const headers = { cookie, 'content-type': type };
      expect((await fetch(`${site.url}/tenants`, { method: 'POST', body, headers })).status).to.equal(status);
    }
    for (const path of [
      '/tenants?after=%00',
      '/audit?before=x',
      '/keys?after=%zz',
      '/tenants/acme%00',
      '/%',
      '/tenants/%ff',
    ])
      expect((await browser.get(path)).status, path).to.be.oneOf([200, 400, 404]);
    expect((await fetch(`${site.url}/sign-in`, { method: 'DELETE' })).status).to.equal(405);
  });
});

describe('site: while the database is away', () => {
  it('says so, on pages and to programs, and gives the reason to the log alone', async () => {
    await withTestSite({}, async (site) => {
      const browser = await signedIn(site.url, site.operator);
      const guest = createBrowserLike(site.url);
      await guest.get('/sign-in');
      await site.connect.close();
      const page: Page = await browser.get('/overview');
      expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5']);
      expect(page.html).to.include('The database does not answer').and.not.to.include('destroyed');
      expect((await guest.submit('/sign-in', { ...site.operator })).status).to.equal(503);
      expect(site.logs.join('')).to.include('keys_unavailable').and.include('destroyed');
      await site.store.close();
      const headers = { authorization: `Bearer ${operatorToken}` };
      const answer = await fetch(`${site.url}/api/tenants`, { headers });
      expect(answer.status).to.equal(503);
      expect((await answer.json()).error).to.deep.equal({
        code: 'keys_unavailable',
        message: 'The database of this gateway does not answer at the moment.',
      });
    });
  });
});
