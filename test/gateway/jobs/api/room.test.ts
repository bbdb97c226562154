import { expect } from 'chai';
import { type JobApi, startJobApi } from './job-api.js';

describe('jobs/api: what a tenant’s open jobs may hold', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi({ maxOpenBytes: 200_000 });
  });
  after(() => api?.close());

  const make = async (key: string, bytes = 10_000) => {
    const form = new FormData();
    form.set('service', 'media/add-border');
    form.set('file', new Blob(['x'.repeat(bytes)]), 'a.png');
    return api.call('/jobs', { body: form, key });
  };

  it('is bounded: a further job is refused until one has ended, and costs no other tenant a place', async () => {
    const first = (await make('acme')).json.data.id;
    expect((await make('acme')).status).to.equal(202);
    const { status, json, headers } = await make('acme');
    expect([status, json.error.code]).to.deep.equal([429, 'tenant_busy']);
    expect(Number(headers.get('retry-after'))).to.be.above(0);
    expect((await make('other')).status).to.equal(202);
    await api.call(`/jobs/${first}`, { method: 'DELETE' });
    expect((await make('acme')).status).to.equal(202);
  });

  it('never shuts out the first, however large', async () => {
    const inputs = Array.from({ length: 300 }, () => ({ text: 'x' }));
    const body = { service: 'text/remove-stopwords', inputs };
    expect((await api.call('/jobs', { body, key: 'large' })).status).to.equal(202);
    expect((await api.call('/jobs', { body, key: 'large' })).status).to.equal(429);
  });

  it('does not shut out a request that is sent again', async () => {
    const send = (text: string) =>
      api.call('/jobs', {
        body: { service: 'text/remove-stopwords', inputs: Array.from({ length: 300 }, () => ({ text })) },
        key: 'again',
        headers: { 'idempotency-key': 'once' },
      });
    const first = await send('x');
    const again = await send('x');
    expect([first.status, again.status]).to.deep.equal([202, 202]);
    expect(again.json.data.id).to.equal(first.json.data.id);
    expect((await send('y')).status).to.equal(409);
  });

  it('is no more kept once it has ended', async () => {
    const { id } = (await make('tidy')).json.data;
    const files = () => [...api.stored.keys()].filter((name) => name.startsWith(id));
    expect(files()).to.deep.equal([`${id}/in/0/file`]);
    await api.call(`/jobs/${id}`, { method: 'DELETE', key: 'tidy' });
    expect(files()).to.deep.equal([]);
  });
});
