import { expect } from 'chai';
import type { Admitted } from '../../../gateway/site/doors.js';
import { pageRoutes } from '../../../gateway/site/pages/routes.js';
import type { PageRoute } from '../../../gateway/site/route.js';
import { type BrowserLike, createBrowserLike, hiddenFields, type Page, signedIn } from './browser-like.js';
import { join } from './join.js';
import { sampleJob } from './sample-jobs.js';
import { openTestSite, type TestSite } from './test-site.js';

type Role = 'anonymous' | 'member of acme' | 'member of globex' | 'operator';

/** Who may have what below `/tenants/acme`: written out, so that a new kind of access has to be thought about here. */
const allowed: Record<Admitted, readonly Role[]> = {
  anyone: ['anonymous', 'member of acme', 'member of globex', 'operator'],
  user: ['member of acme', 'member of globex', 'operator'],
  tenant: ['member of acme', 'operator'],
  operator: ['operator'],
};

describe('site: every route for every role', () => {
  let site: TestSite;
  let key: { id: string };
  let browsers: Record<Role, BrowserLike>;

  before(async () => {
    site = await openTestSite();
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
  after(() => site.close());

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
