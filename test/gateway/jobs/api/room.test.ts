import { expect } from 'chai';
import { type JobApi, startJobApi } from './job-api.js';

describe('jobs/api: what a tenant’s open jobs may hold', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi({ maxOpenBytes: 200_000, maxResultBytes: 100 });
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

  it('is bounded for jobs that come at once, and what is refused leaves no file', async () => {
    const before = new Set(api.stored.keys());
    const made = await Promise.all(Array.from({ length: 8 }, () => make('many')));
    expect(made.map(({ status }) => status).sort()).to.deep.equal([202, 202, ...Array(6).fill(429)]);
    const ids = made.flatMap(({ json }) => json.data?.id ?? []);
    const stored = [...api.stored.keys()].filter((name) => !before.has(name));
    expect(stored.sort()).to.deep.equal(ids.map((id) => `${id}/in/0/file`).sort());
  });

  it('is bounded in results, those kept included, until their jobs are deleted', async () => {
    const { id } = (await make('results')).json.data;
    const result = { kind: 'json', type: 'application/json', bytes: 100, dryrun: false } as const;
    await api.store.finish([{ job: id, index: 0, end: { state: 'done', result } }]);
    const { status, json } = await make('results');
    expect([status, json.error.code]).to.deep.equal([429, 'tenant_busy']);
    expect(json.error.message).to.include('100 bytes');
    // One that leaves no room for another of its kind.
    const { id: large } = (await make('large-results')).json.data;
    const end = { state: 'done', result: { ...result, bytes: 60 } } as const;
    await api.store.finish([{ job: large, index: 0, end }]);
    expect((await make('large-results')).status).to.equal(429);
    expect((await make('other')).status).to.equal(202);
    await api.call(`/jobs/${id}`, { method: 'DELETE', key: 'results' });
    expect((await make('results')).status).to.equal(202);
  });

  it('is no more kept once it has ended', async () => {
    const { id } = (await make('tidy')).json.data;
    const files = () => [...api.stored.keys()].filter((name) => name.startsWith(id));
    expect(files()).to.deep.equal([`${id}/in/0/file`]);
    await api.call(`/jobs/${id}`, { method: 'DELETE', key: 'tidy' });
    expect(files()).to.deep.equal([]);
  });
});
