import { expect } from 'chai';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { useTestSite } from '../test-site.js';

describe('site: tenants, their settings and plans', () => {
  const site = useTestSite();
  const settings = '/tenants/acme/settings';
  let operator: BrowserLike;
  let member: BrowserLike;
  before(async () => {
    for (const name of ['acme', 'globex', 'initech']) await site.admin.createTenant(name, 'test');
    operator = await signedIn(site.url, site.operator);
    member = await join(site, 'acme', 'ada@acme.example');
  });

  async function send(page: string, action: string, fields: Record<string, string> = {}) {
    await operator.get(page);
    return operator.submit(action, fields);
  }
  const rows = async (path: string) =>
    [...(await operator.get(path)).html.matchAll(/<th scope="row"><a href="\/tenants\/([\w-]+)"/g)].map(
      ([, name]) => name,
    );

  it('are found by a part of the name, and sorted as the address says', async () => {
    expect(await rows('/tenants?sort=name&order=desc')).to.deep.equal(['initech', 'globex', 'acme']);
    expect(await rows('/tenants?q=GLOB')).to.deep.equal(['globex']);
    expect((await operator.get('/tenants?q=nothing')).html).to.include('No tenant matches');
    expect((await operator.get('/tenants?sort=colour')).status).to.equal(404);
  });

  it('are made on a page of their own, which says what is wrong with a name', async () => {
    const refused = await send('/tenants/new', '/tenants', { name: 'No!' });
    expect([refused.status, refused.html.includes('Name must be')]).to.deep.equal([400, true]);
    expect((await operator.submit('/tenants', { name: 'wayne' })).location).to.equal('/tenants/wayne');
  });

  it('show the value that holds of each limit, and where it comes from', async () => {
    await site.admin.putPlan('team', { rate: 20, monthly_quota: 500 }, 'test');
    await site.admin.editTenant('acme', { plan: 'team', monthly_quota: 900 }, 'test');
    for (const browser of [operator, member]) {
      const { html } = await browser.get(settings);
      expect(html).to.match(/>20<\/td><td class="priority-2">plan team/);
      expect(html)
        .to.match(/>900<\/td><td class="priority-2">own value/)
        .and.to.include('0 of 900 (0 %)');
      expect(html).to.match(/>100<\/td><td class="priority-2">gateway’s default/);
    }
    expect((await member.get(settings)).html).not.to.include(`action="${settings}`);
  });

  it('are renamed, noted, suspended and resumed', async () => {
    await site.admin.createTenant('hooli', 'test');
    const page = '/tenants/hooli/settings';
    const details = { name: 'hooli-2', note: 'Pays late', external_id: '', notice_url: '' };
    const renamed = await send(page, `${page}/details`, details);
    expect(renamed.location).to.equal('/tenants/hooli-2/settings?saved=1');
    const now = '/tenants/hooli-2/settings';
    expect((await operator.get(now)).html).to.include('Pays late');
    expect((await operator.get(`${now}/suspend`)).html).to.include('Suspend hooli-2?');
    expect((await operator.get('/tenants/hooli-2')).html).to.include('Suspend…');
    expect((await member.get('/tenants/acme')).html).not.to.include('Suspend…');
    await operator.submit(`${now}/suspend`);
    expect((await operator.get('/tenants/hooli-2')).html).to.include('This tenant is suspended');
    expect(await rows('/tenants?state=suspended')).to.deep.equal(['hooli-2']);
    await send(now, `${now}/resume`);
    expect((await site.admin.tenant('hooli-2')).state).to.equal('active');
    const taken = await send(now, `${now}/details`, { ...details, name: 'acme' });
    expect([taken.status, taken.html.includes('exists already')]).to.deep.equal([400, true]);
  });

  it('are read by their members while they are suspended, and changed by operators alone', async () => {
    await member.get('/tenants/acme');
    await site.admin.editTenant('acme', { state: 'suspended' }, 'test');
    try {
      const issued = await member.submit('/tenants/acme/keys', { label: 'late' });
      expect([issued.status, issued.html.includes('suspended')]).to.deep.equal([403, true]);
      const page = await member.get('/tenants/acme');
      expect([page.status, page.html.includes('action="/tenants/acme/keys"')]).to.deep.equal([200, false]);
      expect((await operator.get('/tenants/acme')).html).to.include('action="/tenants/acme/keys"');
    } finally {
      await site.admin.editTenant('acme', { state: 'active' }, 'test');
    }
  });

  it('mark in the navigation where a page belongs, and there alone', async () => {
    for (const [path, marked] of [
      ['/plans', ['/tenants']],
      ['/tokens', ['/people']],
      ['/tenants/acme', ['/tenants', '/tenants/acme']],
      [settings, ['/tenants', settings]],
    ] as const) {
      const { html } = await operator.get(path);
      const found = [...html.matchAll(/href="([^"]+)" aria-current="page"/g)].map(([, href]) => href);
      expect(found, path).to.deep.equal(marked);
    }
  });

  it('are deleted by somebody who types the name', async () => {
    await site.admin.createTenant('oscorp', 'test');
    await site.admin.issueKey('oscorp', {}, 'test');
    const page = '/tenants/oscorp/settings/delete';
    for (const asking of ['/tenants/oscorp/settings', page])
      expect((await operator.get(asking)).html).to.include('1 key, 0 recipes, 0 members, 0 jobs');
    const refused = await send(page, page, { confirm: 'acme' });
    expect([refused.status, refused.html.includes('must be oscorp')]).to.deep.equal([400, true]);
    expect((await operator.submit(page, { confirm: 'oscorp' })).location).to.equal('/tenants');
    expect((await operator.get('/tenants/oscorp')).status).to.equal(404);
  });

  it('share plans, which are added, changed, and deleted once nothing refers to them', async () => {
    const added = await send('/plans', '/plans', { name: 'free', rate: '5' });
    expect(added.location).to.equal('/plans/free?saved=1');
    await send('/plans/free', '/plans/free', { rate: '6', weight: '2' });
    await site.admin.editTenant('globex', { plan: 'free' }, 'test');
    expect((await site.admin.tenant('globex')).in_force.rate).to.deep.equal({ value: 6, from: 'plan' });
    expect((await operator.get('/plans')).html).to.include('one tenant');
    const again = await send('/plans', '/plans', { name: 'free' });
    expect([again.status, again.html.includes('is that of another plan')]).to.deep.equal([400, true]);
    expect((await operator.get('/plans/free')).html).not.to.include('Delete plan…');
    const refused = await send('/plans/free/delete', '/plans/free/delete');
    expect([refused.status, refused.html.includes('is in use')]).to.deep.equal([409, true]);
    await site.admin.editTenant('globex', { plan: null }, 'test');
    expect((await send('/plans/free/delete', '/plans/free/delete')).location).to.equal('/plans');
    expect((await operator.get('/plans/free')).status).to.equal(404);
  });
});

describe('site: the overview', () => {
  const site = useTestSite();

  it('asks support staff, who change nothing, to do nothing', async () => {
    const support = await join(site, null, 'sue@gateway.example', 'support');
    await site.admin.createTenant('globex', 'test');
    for (const path of ['/overview', '/tenants', '/tenants/globex', '/keys', '/plans'])
      expect((await support.get(path)).html, path).not.to.match(/First steps|first one/);
    await site.admin.deleteTenant('globex', 'test');
  });

  it('ticks off the first steps as they happen, and is without them afterwards', async () => {
    const operator = await signedIn(site.url, site.operator);
    const todo = async () => (await operator.get('/overview')).html.match(/\(to do\)/g)?.length ?? 0;
    expect(await todo()).to.equal(3);
    await site.admin.createTenant('acme', 'test');
    expect(await todo()).to.equal(2);
    const { id } = await site.admin.issueKey('acme', {}, 'test');
    expect(await todo()).to.equal(1);
    await site.store.touch(new Map([[id, Date.now()]]));
    expect(await todo()).to.equal(0);
    expect((await operator.get('/overview')).html).not.to.include('First steps');
  });
});
