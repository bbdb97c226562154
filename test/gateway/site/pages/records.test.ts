import { expect } from 'chai';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { operatorToken, useTestSite } from '../test-site.js';

describe('site: usage, requests and the audit log', () => {
  const site = useTestSite();
  let operator: BrowserLike;
  let member: BrowserLike;
  let key: string;
  const dayMs = 86_400_000;
  const busy = { status: 503, code: 'busy', ms: 2000 };
  before(async () => {
    const acme = (await site.admin.createTenant('acme', 'test')).id;
    const globex = (await site.admin.createTenant('globex', 'test')).id;
    ({ id: key } = await site.admin.issueKey('acme', { label: '=web "shop"' }, 'test'));
    operator = await signedIn(site.url, site.operator);
    member = await join(site, 'acme', 'ada@acme.example');
    await site.record(
      { tenant: acme, key },
      { tenant: acme, key, ...busy },
      { tenant: acme, key, at: Date.now() - dayMs, service: 'text/a' },
      { tenant: globex, key: 'key_gone' },
    );
  });

  const html = async (path: string, by = member) => (await by.get(path)).html;

  async function api(path: string, headers: Record<string, string> = {}) {
    const answer = await fetch(`${site.url}${path}`, {
      headers: { authorization: `Bearer ${operatorToken}`, ...headers },
    });
    return { type: answer.headers.get('content-type'), status: answer.status, text: await answer.text() };
  }

  it('shows the calls of a key on its page, in sum and as a chart day by day', async () => {
    const page = await html(`/keys/${key}`);
    expect(page).to.include('<dd>3</dd><dd class="note">3 in the last 7 days</dd>');
    expect(page.match(/data-tip="/g)).to.have.length(2);
  });

  it('shows usage by helper, key and outcome, and day by day', async () => {
    const page = await html('/tenants/acme/usage');
    for (const text of ['media/add-border', 'text/a', '2 calls', '1 error<', '<details>'])
      expect(page).to.include(text);
    expect(await html('/tenants/acme/usage?by=key'))
      .to.include('=web &quot;shop&quot;')
      .and.include(`/keys/${key}"`);
    expect(await html('/tenants/acme/usage?by=outcome'))
      .to.include('>5xx<')
      .and.include('>ok<');
    const all = await html('/usage?by=tenant', operator);
    expect(all).to.include('/tenants/globex/usage').and.include('3 calls');
    expect(await html('/tenants/acme/usage?from=2020-01-01&to=2020-01-02')).to.include(
      'No calls from 2020-01-01',
    );
  });

  it('draws a year in as many bars as a page can hold', async () => {
    const page = await html('/tenants/acme/usage?from=2025-01-01&to=2026-12-31');
    expect(page).to.match(/Calls in \d days by helper/);
  });

  it('says what is wrong with days that were typed', async () => {
    const page = await member.get('/tenants/acme/usage?from=tomorrow');
    expect([page.status, page.html.includes('from must be a day such as 2030-01-31')]).to.deep.equal([
      400,
      true,
    ]);
  });

  it('shows the last requests of a tenant to its members, and of all to operators', async () => {
    const page = await html('/tenants/acme/requests?status=5xx');
    expect(page).to.include('request-1').and.include('>busy<').and.not.include('request-0');
    expect(await html('/tenants/acme/requests?request_id=request-3')).to.include('Nothing matches');
    expect(await html('/requests?request_id=request-3', operator)).to.include('/tenants/globex/requests');
    expect((await member.get('/requests')).status).to.equal(403);
  });

  it('says how many of all records its CSV has', async () => {
    for (const path of ['/requests', '/audit'])
      expect(await html(path, operator)).to.include('>CSV of the newest 1,000<');
    expect(await html('/requests', operator)).to.include('calls of each tenant within 1 day.');
  });

  it('shows the audit log in words, filtered by the address', async () => {
    const page = await html('/audit?action=key.issue&tenant=acme', operator);
    expect(page).to.include('issued the key =web &quot;shop&quot;').and.not.include('created the tenant');
    expect((await operator.get('/audit?tenant=nobody')).html).to.include('There is no tenant named');
  });

  it('offers each as CSV, in which no cell is run', async () => {
    const { headers, html: csv } = await member.get('/tenants/acme/usage?by=key&format=csv');
    expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).to.equal('attachment; filename="usage.csv"');
    expect(csv).to.include('day,key,label,calls').and.include(`,${key},"'=web ""shop""",2,1,`);
    expect(await html('/tenants/acme/requests?format=csv')).to.match(/^at,request_id,tenant/);
    expect(await html('/audit?format=csv', operator)).to.match(/^at,actor,action/);
    const inApi = await api('/api/usage?tenant=acme&by=key', { accept: 'text/csv' });
    expect([inApi.type, inApi.text.split('\r\n').length]).to.deep.equal(['text/csv; charset=utf-8', 3]);
    expect((await api('/api/requests?format=csv')).text).to.match(/^at,request_id/);
    expect((await api('/api/usage', { accept: '*/*' })).type).to.equal('application/json; charset=utf-8');
    expect((await api('/api/usage?format=xml')).status).to.equal(400);
  });

  it('answers sums with tenants by name and keys with their labels', async () => {
    const usage = async (query: string) => JSON.parse((await api(`/api/usage?${query}`)).text).data.usage;
    const figures = { bytes_in: 6300, bytes_out: 552_000, cpu_ms: 184.5 };
    const [sum] = await usage('by=key&tenant=acme');
    expect(sum).to.include({ key, label: '=web "shop"', calls: 3, errors: 1, ...figures });
    expect(sum.p95_ms).to.be.within(1250, 2000 * 1.6);
    expect((await usage('by=tenant')).map(({ tenant }: { tenant: string }) => tenant)).to.deep.equal([
      'acme',
      'globex',
    ]);
    expect((await api('/api/usage?tenant=nobody')).status).to.equal(404);
  });

  it('gives figures of days for charts', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const from = new Date(Date.now() - dayMs).toISOString().slice(0, 10);
    const { id } = await site.admin.tenant('acme');
    const days = await site.reports.days({ from, to: today, tenant: id });
    expect(days.map(({ day, calls, errors, limited }) => [day, calls, errors, limited])).to.deep.equal([
      [from, 1, 0, 0],
      [today, 2, 1, 0],
    ]);
    expect((await site.reports.days({ from: today, to: today }))[0]?.calls).to.equal(3);
  });

  it('reads the use of one key over any span', async () => {
    const { text } = await api(`/api/usage?key=${key}&from=2025-01-01&by=`);
    expect(JSON.parse(text).data.usage[0]).to.include({ calls: 3, errors: 1 });
    expect((await api(`/api/requests?key=${key}`)).text)
      .to.include('request-1')
      .and.not.include('request-3');
  });

  it('leads to no page of a tenant that was deleted', async () => {
    const { id } = await site.admin.createTenant('initech', 'test');
    await site.record({ tenant: id, key: 'key_deleted', service: 'text/b' });
    await site.admin.deleteTenant('initech', 'test');
    for (const path of ['/requests?service=text/b', '/usage?by=tenant'])
      expect(await html(path, operator))
        .to.include('initech (deleted)')
        .and.not.match(/href="[^"]*(initech|key_deleted)/);
  });
});
