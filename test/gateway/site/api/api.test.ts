import { expect } from 'chai';
import { sampleUsage } from '../sample-usage.js';
import { openTestSite, operatorToken, type TestSite } from '../test-site.js';
import { createApiClient, type Envelope, problems } from './api-client.js';

describe('site/api', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
  });
  after(() => site.close());
  const call = createApiClient(() => site);

  it('goes the way of a key: tenant, key, rotation, end of grace, revocation', async () => {
    const tenant = await call('POST', '/api/tenants', { name: 'acme' });
    expect(tenant.status).to.equal(200);
    expect(tenant.json).to.have.property('ok', true);
    expect(tenant.json.data).to.include({ name: 'acme', weight: 1 });
    expect(tenant.json.meta).to.deep.include({ service: null, dryrun: false });
    expect(tenant.headers.get('x-request-id')).to.equal(tenant.json.meta.request_id);

    const body = { label: 'billing', scopes: ['text/*'], expires_at: '2099-01-31' };
    const issued = await call('POST', '/api/tenants/acme/keys', body);
    expect(issued.json.data.id).to.match(/^key_/);
    const { id, key: first } = issued.json.data;
    expect(await site.verifier.verify(first)).to.have.property('state', 'active');

    const rotated = await call('POST', `/api/keys/${id}/rotate`, { grace_seconds: 60 });
    expect(rotated.json.data.id).to.equal(id);
    const second = rotated.json.data.key;
    const states = async () =>
      Promise.all([first, second].map(async (key: string) => (await site.verifier.verify(key)).state));
    expect(await states()).to.deep.equal(['active', 'active']);
    await call('POST', `/api/keys/${id}/end-grace`);
    expect(await states()).to.deep.equal(['expired', 'active']);

    const listed = await call('GET', '/api/tenants/acme/keys');
    expect(listed.json.data.keys).to.have.length(1);
    expect(JSON.stringify(listed.json)).not.to.include(first).and.not.to.include(second);
    expect((await call('GET', `/api/keys/${id}`)).json.data).to.deep.equal(listed.json.data.keys[0]);

    expect((await call('DELETE', `/api/keys/${id}`)).json.data).to.include({ id, state: 'revoked' });
    expect(await states()).to.deep.equal(['revoked', 'revoked']);
    expect((await call('POST', `/api/keys/${id}/rotate`)).status).to.equal(400);

    const audit = await call('GET', '/api/audit?tenant=acme');
    const actions = audit.json.data.entries.map(({ action }: { action: string }) => action);
    expect(actions).to.deep.equal([
      'key.revoke',
      'key.end_grace',
      'key.rotate',
      'key.issue',
      'tenant.create',
    ]);
  });

  it('keeps the old secret for a day where no grace is said, without a body too', async () => {
    await call('POST', '/api/tenants', { name: 'daily' });
    const { id } = (await call('POST', '/api/tenants/daily/keys')).json.data;
    const { previous_expires_at } = (await call('POST', `/api/keys/${id}/rotate`)).json.data;
    expect(Date.parse(previous_expires_at) - Date.now()).to.be.within(86_000_000, 86_400_000);
  });

  it('changes limits, and goes back to the default with null', async () => {
    await call('POST', '/api/tenants', { name: 'limited' });
    const changed = await call('PATCH', '/api/tenants/limited', { rate: 12, weight: 3 });
    expect(changed.json.data).to.deep.include({
      weight: 3,
      limits: { rate: 12, burst: null, monthly_quota: null, in_flight: null },
    });
    const back = await call('PATCH', '/api/tenants/limited', { rate: null, monthly_quota: 1000 });
    expect(back.json.data.limits).to.include({ rate: null, monthly_quota: 1000 });
    expect(back.json.data.weight).to.equal(3);
    const wrong = await call('PATCH', '/api/tenants/limited', {
      rate: -1,
      burst: 1.5,
      weight: 0,
      in_flight: '3',
    });
    expect(Object.keys(problems(wrong))).to.have.members(['rate', 'burst', 'weight', 'in_flight']);
  });

  it('hands out lists in pages', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await call('POST', '/api/tenants', { name });
    const first = await call('GET', '/api/tenants?limit=2&after=page-');
    expect(first.status).to.equal(200);
    const names = ({ json }: { json: Envelope }) =>
      json.data.tenants.map(({ name }: { name: string }) => name);
    expect(names(first)).to.deep.equal(['page-a', 'page-b']);
    const second = await call('GET', `/api/tenants?limit=2&after=${first.json.data.next}`);
    expect(names(second)[0]).to.equal('page-c');
  });

  it('reports usage', async () => {
    await call('POST', '/api/tenants', { name: 'busy' });
    const { id } = await site.admin.tenant('busy');
    site.usage.set(id, sampleUsage('key_1', 2));
    const { json } = await call('GET', '/api/tenants/busy/usage');
    expect(json.data.next).to.equal(null);
    expect(json.data.usage).to.have.length(8);
    expect(json.data.usage[0]).to.have.all.keys(
      'day key service calls errors bytes_in bytes_out cpu_ms'.split(' '),
    );
  });

  it('serves metrics as text', async () => {
    const answer = await fetch(`${site.url}/metrics`, {
      headers: { authorization: `Bearer ${operatorToken}` },
    });
    expect(answer.headers.get('content-type')).to.include('text/plain; version=0.0.4');
    expect(await answer.text()).to.equal('gateway_calls_total 0\n');
  });
});
