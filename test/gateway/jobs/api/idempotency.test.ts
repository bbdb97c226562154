import { expect } from 'chai';
import { DatabaseError } from '../../../../gateway/database/database-error.js';
import { GatewayError } from '../../../../gateway/errors.js';
import { type JobApi, startJobApi } from './job-api.js';

const service = 'text/remove-stopwords';

describe('jobs/api: Idempotency-Key', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi();
  });
  after(() => api?.close());

  const post = (name: string, body: FormData | Record<string, unknown>, key = 'acme') =>
    api.call('/jobs', { key, body, headers: { 'idempotency-key': name } });

  function form(file: string, fileName = 'a.png'): FormData {
    const form = new FormData();
    form.append('service', 'media/resize');
    form.append('file', new Blob([file], { type: 'image/png' }), fileName);
    return form;
  }

  it('has the same request answered with the same job', async () => {
    const body = { service, inputs: [{ text: 'a' }], webhook: { url: 'https://example.com/' } };
    const first = await post('k1', body);
    const again = await post('k1', { webhook: body.webhook, inputs: body.inputs, service });
    expect([first.status, again.status]).to.deep.equal([202, 202]);
    expect(again.json.data).to.deep.equal(first.json.data);
    expect(again.headers.get('location')).to.equal(first.headers.get('location'));
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    expect(api.woken).to.have.length(1);
  });

  it('refuses another request', async () => {
    const body = { service, inputs: [{ text: 'a' }, { text: 'b' }] };
    await post('k2', body);
    const others = [
      { ...body, inputs: [{ text: 'a' }] },
      { ...body, inputs: [{ text: 'b' }, { text: 'a' }] },
      { ...body, webhook: { url: 'https://example.com/' } },
      { ...body, service: 'text/diff-two-strings' },
    ];
    for (const other of others) {
      const { status, json } = await post('k2', other);
      expect([status, json.error.code]).to.deep.equal([409, 'conflict']);
      expect(json.error.message).to.match(/^This Idempotency-Key was used for another request/);
    }
  });

  it('is each tenant’s own', async () => {
    const body = { service, inputs: [{}] };
    const one = await post('k3', body);
    const other = await post('k3', body, 'umbrella');
    expect(other.status).to.equal(202);
    expect(other.json.data.id).not.to.equal(one.json.data.id);
  });

  it('knows a form by its files, whatever its boundary, and keeps none of them twice', async () => {
    const first = await post('k4', form('one'));
    const before = api.stored.size;
    const again = await post('k4', form('one'));
    expect(again.json.data.id).to.equal(first.json.data.id);
    for (const other of [form('two'), form('one', 'b.png')]) {
      expect((await post('k4', other)).status).to.equal(409);
    }
    expect(api.stored.size).to.equal(before);
  });

  it('makes one job of requests at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('k5', { service, inputs: [{}] })));
    const ids = new Set(answers.map(({ json }) => json.data.id));
    expect(ids.size).to.equal(1);
    const replayed = answers.filter(({ headers }) => headers.has('idempotency-replayed'));
    expect(replayed).to.have.length(4);
  });

  it('has 1 to 255 visible characters', async () => {
    for (const name of ['', 'x'.repeat(256), 'a b', 'é']) {
      const { status, json } = await post(name, { service, inputs: [{}] });
      expect(status, name).to.equal(400);
      expect(json.error.details[0].field).to.equal('Idempotency-Key');
    }
    expect((await post('x'.repeat(255), { service, inputs: [{}] })).status).to.equal(202);
  });

  it('finds a job whose making was answered by nobody, with its files', async () => {
    const { store } = api;
    api.broken.store = {
      ...store,
      async create(job, inputs) {
        await store.create(job, inputs);
        throw new DatabaseError(new Error('connection lost'));
      },
    };
    const { status, json } = await api.call('/jobs', { body: form('kept') });
    delete api.broken.store;
    expect(status).to.equal(202);
    expect(api.stored.has(`${json.data.id}/in/0/file`)).to.equal(true);
  });

  it('leaves no file where the job could not be made', async () => {
    const before = api.stored.size;
    const { store } = api;
    api.broken.store = { ...store, create: () => Promise.reject(new Error('constraint')) };
    const { status } = await api.call('/jobs', { body: form('kept') });
    delete api.broken.store;
    expect(status).to.equal(500);
    expect(api.stored.size).to.equal(before);
    api.broken.lastRefusal = async () => new GatewayError('busy');
    expect((await api.call('/jobs', { body: form('kept') })).status).to.equal(503);
    delete api.broken.lastRefusal;
    expect(api.stored.size).to.equal(before);
  });
});
