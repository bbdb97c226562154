import { expect } from 'chai';
import type { Answer } from '../../harness.js';
import { type JobApi, startJobApi } from '../../jobs/api/job-api.js';
import { done, failed } from '../../jobs/store/stored-jobs.js';
import { documentOf, type Operation, placeOfAnswer, validatorsOf } from './document-of.js';

type Method = 'get' | 'post' | 'delete';

describe('docs/openapi: of the answers about jobs', () => {
  let api: JobApi;
  let paths: Record<string, Record<string, Operation>>;
  let validatorAt: ReturnType<typeof validatorsOf>;
  before(async () => {
    api = await startJobApi();
    const { document } = await documentOf([]);
    paths = document.paths as never;
    const options = { formats: { binary: true, 'date-time': true } } as const;
    validatorAt = validatorsOf(structuredClone(document), options);
  });
  after(() => api?.close());

  function expectDescribed({ status, json, headers }: Answer, method: Method, path: string): void {
    const place = placeOfAnswer(paths, [path, method, status]);
    expect(place, `${method} ${path} ${status}`).not.to.equal(undefined);
    const validate = validatorAt(...(place ?? []));
    expect(validate?.(json), `${method} ${path} ${status}: ${JSON.stringify(validate?.errors)}`).to.equal(
      true,
    );
    for (const name of Object.keys(paths[path]?.[method]?.responses[status]?.headers ?? {})) {
      if (name === 'Location') expect(headers.get(name)).to.be.a('string');
    }
  }

  const body = {
    service: 'text/remove-stopwords',
    inputs: [{}, {}, {}],
    webhook: { url: 'https://example.com/' },
  };

  it('describes them all', async () => {
    const made = await api.call('/jobs', { body });
    expectDescribed(made, 'post', '/jobs');
    const { id } = made.json.data;
    await api.store.start([0, 1].map((index) => ({ job: id, index })));
    await api.store.finish([done({ job: id, index: 0 }), failed({ job: id, index: 1 })]);
    api.stored.set(`${id}/out/0`, Buffer.from('{}'));
    expectDescribed(await api.call('/jobs'), 'get', '/jobs');
    expectDescribed(await api.call(`/jobs/${id}?limit=2`), 'get', '/jobs/{id}');
    for (const index of [0, 1, 2, 3]) {
      expectDescribed(await api.call(`/jobs/${id}/items/${index}`), 'get', '/jobs/{id}/items/{index}');
    }
    expectDescribed(await api.call(`/jobs/${id}`, { method: 'DELETE' }), 'delete', '/jobs/{id}');
    expectDescribed(await api.call(`/jobs/${id}`), 'get', '/jobs/{id}');
  });

  it('describes refusals', async () => {
    expectDescribed(await api.call('/jobs?limit=0'), 'get', '/jobs');
    expectDescribed(await api.call('/jobs/job_x'), 'get', '/jobs/{id}');
    expectDescribed(await api.call('/jobs/job_x', { method: 'DELETE' }), 'delete', '/jobs/{id}');
    const headers = { 'idempotency-key': 'once' };
    await api.call('/jobs', { body, headers });
    const refused = [
      await api.call('/jobs', { body: { ...body, inputs: [3] } }),
      await api.call('/jobs', { body: { ...body, inputs: [{}] }, headers }),
      await api.call('/jobs', { body, key: 'acme!media/*' }),
      await api.call('/jobs', { body: 'x', headers: { 'content-type': 'text/plain' } }),
      await api.call('/jobs', { body: { ...body, inputs: [{ text: 'x'.repeat(9_000) }] } }),
      await api.call('/jobs', { body, key: null }),
    ];
    expect(refused.map(({ status }) => status)).to.deep.equal([400, 409, 403, 415, 413, 401]);
    for (const answer of refused) expectDescribed(answer, 'post', '/jobs');
  });

  it('describes what makes a job', () => {
    const place = ['requestBody', 'content', 'application/json', 'schema'];
    const validate = validatorAt('paths', '/jobs', 'post', ...place);
    expect(validate?.(body), JSON.stringify(validate?.errors)).to.equal(true);
    const wrong = [
      { ...body, service: 'x' },
      { ...body, inputs: [] },
      { ...body, inputs: [1] },
      { ...body, more: 1 },
    ];
    for (const each of wrong) expect(validate?.(each), JSON.stringify(each)).to.equal(false);
    const { content } = paths['/jobs']?.post?.requestBody ?? {};
    expect(content?.['multipart/form-data']?.schema).to.have.nested.property('properties.file.type', 'array');
  });
});
