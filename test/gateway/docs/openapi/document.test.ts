import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { errorTable } from '../../../../gateway/errors.js';
import { type Answer, startTestGateway, type TestGateway } from '../../harness.js';
import { type JobApi, startJobApi } from '../../jobs/api/job-api.js';
import { done, failed } from '../../jobs/store/stored-jobs.js';
import { createComparison, documentOf, fixtureFolders } from './document-of.js';

describe('docs/openapi: the document', () => {
  let made: Awaited<ReturnType<typeof documentOf>>;
  before(async () => {
    made = await documentOf(fixtureFolders);
  });

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(made.document));
    expect(result.valid, JSON.stringify(result.errors)).to.equal(true);
    expect(validator.version).to.equal('3.1');
  });

  it('gives each operation an id of its own, whose words are the path’s', () => {
    const ids = Object.values(made.document.paths).flatMap((item) =>
      Object.values(item as object).map(({ operationId }) => operationId as string),
    );
    expect(new Set(ids).size).to.equal(ids.length);
    const ofDiff = ['getTextDiffTwoStrings', 'postTextDiffTwoStrings'];
    expect(ids).to.include.members([...ofDiff, 'postOddFiles', 'postOddFiles_2']);
  });

  it('has none of the vocabulary’s own keywords, nor draft-07’s', () => {
    const text = JSON.stringify(made.document);
    expect(text).not.to.match(/"(color|fraction|drawable|nullable)":true|"choice":|"\$id"|\/definitions\//);
    expect(text).not.to.match(/"additionalItems"|"dependencies":/);
  });

  it('writes lists of a query with commas, and what is deeper as JSON', () => {
    const { parameters } = made.operation('get', '/nasty');
    const named = (name: string) => parameters.find((each) => each.name === name);
    expect(named('numbers')).to.include({ style: 'form', explode: false });
    for (const name of ['tree', 'lists', 'shape']) {
      expect(named(name), name).to.have.nested.property('content.application/json.schema');
    }
    expect(named('odd')).to.include({ required: true });
  });

  it('accepts files in multipart alone, and their urls everywhere', () => {
    const { content, required } = made.operation('post', '/odd/files').requestBody;
    expect(required).to.equal(true);
    const ofNotes = 'The file itself; its url does as well. Of the type text/plain, text/markdown.';
    expect(content['multipart/form-data']?.schema.properties).to.deep.nested.include({
      ...{ 'logo.format': 'binary', 'logo.contentMediaType': 'image/*', 'notes.description': ofNotes },
    });
    expect(content['application/x-www-form-urlencoded']?.schema.required).to.deep.equal(['logo']);
  });

  it('needs no body where nothing is required', () => {
    const isRequired = (path: string) => made.operation('post', path).requestBody.required;
    expect(['/shape', '/text/diff-two-strings'].map(isRequired)).to.deep.equal([false, true]);
  });

  it('may answer with a picture where the helper has one, and with data alone where that is described', () => {
    const typesOf = (path: string) => Object.keys(made.operation('post', path).responses[200]?.content ?? {});
    expect(typesOf('/media/add-border')).to.include.members(['application/json', 'image/png', '*/*']);
    expect(typesOf('/nasty')).to.deep.equal(['application/json']);
  });

  it('has an ETag where pictures are made of pictures, and nowhere else', () => {
    const tagged = (method: 'get' | 'post', path: string) => {
      const { parameters = [], responses } = made.operation(method, path);
      const isConditional = parameters.some(({ name }) => name === 'If-None-Match');
      return [isConditional, '304' in responses, Object.hasOwn(responses[200]?.headers ?? {}, 'ETag')];
    };
    expect(tagged('get', '/media/add-border')).to.deep.equal([true, true, true]);
    expect(tagged('post', '/media/add-border')).to.deep.equal([false, false, true]);
    expect(tagged('get', '/text/remove-stopwords')).to.deep.equal([false, false, false]);
  });

  it('names every error of the table that a helper can answer with, by its status', () => {
    const { responses } = made.operation('get', '/text/diff-two-strings');
    const ofTheSite = ['unauthorized', 'forbidden', 'exists'];
    for (const [code, { status }] of Object.entries(errorTable)) {
      if (ofTheSite.includes(code)) continue;
      const name = responses[status]?.$ref?.split('/').at(-1) ?? '';
      const response = made.document.components.responses[name];
      expect(JSON.stringify(response), `${status} ${code}`).to.include(`"${code}"`);
      const waits = 'retryAfter' in errorTable[code as keyof typeof errorTable];
      if (waits) expect(response).to.have.nested.property('headers.Retry-After');
    }
  });

  it('accepts the key in both places, a signed url for GET alone, and no key for the gateway’s health', () => {
    const byKey = [{ bearer: [] }, { ak: [] }];
    expect(made.document.security).to.deep.equal(byKey);
    expect(made.operation('get', '/healthz').security).to.deep.equal([]);
    const { security, parameters } = made.operation('get', '/media/add-border');
    expect(security).to.deep.equal([...byKey, { kid: [], exp: [], sig: [] }]);
    expect(parameters.map(({ name }) => name)).not.to.include('sig');
    expect(made.operation('post', '/media/add-border')).not.to.have.property('security');
    const sig = { type: 'apiKey', in: 'query', name: 'sig' };
    expect(made.document.components.securitySchemes.sig).to.include(sig);
  });
});

/** What a query can carry: text, lists with commas, and JSON. */
function queryOf(input: Record<string, unknown>): string {
  const texts = Object.entries(input).map(([name, value]) => {
    if (typeof value !== 'object') return [name, String(value)];
    const isPlainList = Array.isArray(value) && value.every((item) => typeof item !== 'object');
    return [name, isPlainList ? value.join() : JSON.stringify(value)];
  });
  return new URLSearchParams(texts).toString();
}

describe('docs/openapi: of the gateway’s answers', function () {
  this.timeout(60_000);
  let gateway: TestGateway;
  let described: ReturnType<typeof createComparison>;
  before(async () => {
    // These end their worker, or never answer.
    const folders = fixtureFolders.filter((folder) => !/pool$|results$/.test(folder));
    gateway = await startTestGateway({ HELPER_PLUGINS: folders.join(':'), LOG_LEVEL: 'silent' });
    described = createComparison((await gateway.call('/openapi.json', { key: null })).json);
  });
  after(() => gateway?.close());

  it('holds each example and each dry run, by GET and by POST', async () => {
    const calls = [...gateway.gateway.registry.values()].flatMap(({ id, declaration: { examples } }) =>
      [...examples, { input: { dryrun: true } }].map(({ input }) => ({ path: `/${id}`, input })),
    );
    for (const { path, input } of calls) {
      described.expectDescribed(await gateway.call(`${path}?${queryOf(input)}`), 'get', path);
      const posted = await gateway.call(path, { body: input });
      described.expectDescribed(posted, 'post', path);
      const isAccepted = posted.status !== 200 || described.accepts(path, input);
      expect(isAccepted, `${path} ${JSON.stringify(input)}`).to.equal(true);
    }
    expect(calls.length).to.be.above(15);
  });

  it('holds the pictures', async () => {
    const file = new URL('../../../../../plugins/media/example.jpg', import.meta.url);
    const picture = new Blob([await readFile(file)]);
    for (const path of ['/media/add-border', '/team/size']) {
      const form = new FormData();
      form.set('file', picture, 'example.jpg');
      form.set('url', '');
      const answer = await gateway.call(path, { body: form });
      expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
      described.expectDescribed(answer, 'post', path);
    }
  });

  it('holds the errors, and the gateway’s health', async () => {
    const path = '/text/diff-two-strings';
    const answers: [string, Answer][] = [
      [path, await gateway.call(path)],
      [path, await gateway.call(path, { key: null })],
      [path, await gateway.call(path, { method: 'DELETE' })],
      [path, await gateway.call(path, { body: 'x', headers: { 'content-type': 'text/plain' } })],
      ['/media/add-border', await gateway.call('/media/add-border?url=http://127.0.0.1/')],
      ['/healthz', await gateway.call('/healthz')],
      ['/readyz', await gateway.call('/readyz')],
    ];
    expect(answers.map(([, { status }]) => status)).to.deep.equal([400, 401, 405, 415, 400, 200, 200]);
    for (const [path, answer] of answers) described.expectDescribed(answer, 'get', path);
  });

  it('holds what is refused of a body, as JSON Schema says', async () => {
    const wrong = [{ ink: '#12345' }, { other: 1 }, { pair: [1, 'x'] }].map((each) => ({
      odd: 'a/b',
      ...each,
    }));
    for (const input of [...wrong, { odd: 'x' }, {}]) {
      expect((await gateway.call('/nasty', { body: input })).status).to.equal(400);
      expect(described.accepts('/nasty', input), JSON.stringify(input)).to.equal(false);
    }
  });

  it('leaves no other fields in their envelopes', async () => {
    const path = '/text/diff-two-strings';
    for (const query of ['?a=x&b=y', '']) {
      const answer = await gateway.call(path + query);
      for (const wrong of [{ more: 1 }, { meta: {} }]) {
        const json = { ...answer.json, ...wrong };
        expect(() => described.expectDescribed({ ...answer, json }, 'get', path)).to.throw('ok');
      }
    }
  });
});

describe('docs/openapi: of the answers about jobs', () => {
  let api: JobApi;
  let made: Awaited<ReturnType<typeof documentOf>>;
  let described: ReturnType<typeof createComparison>;
  before(async () => {
    api = await startJobApi();
    made = await documentOf([]);
    described = createComparison(structuredClone(made.document));
  });
  after(() => api?.close());

  const webhook = { url: 'https://example.com/' };
  const body = { service: 'text/remove-stopwords', inputs: [{}, {}, {}], webhook };

  it('describes them all', async () => {
    const created = await api.call('/jobs', { body });
    described.expectDescribed(created, 'post', '/jobs');
    expect(made.operation('post', '/jobs').responses[202]?.headers).to.have.property('Location');
    expect(created.headers.get('location')).to.be.a('string');
    const { id } = created.json.data;
    await api.store.start([0, 1].map((index) => ({ job: id, index })));
    await api.store.finish([done({ job: id, index: 0 }), failed({ job: id, index: 1 })]);
    api.stored.set(`${id}/out/0`, Buffer.from('{}'));
    described.expectDescribed(await api.call('/jobs'), 'get', '/jobs');
    described.expectDescribed(await api.call(`/jobs/${id}?limit=2`), 'get', '/jobs/{id}');
    for (const index of [0, 1, 2, 3]) {
      const answer = await api.call(`/jobs/${id}/items/${index}`);
      described.expectDescribed(answer, 'get', '/jobs/{id}/items/{index}');
    }
    described.expectDescribed(await api.call(`/jobs/${id}`, { method: 'DELETE' }), 'delete', '/jobs/{id}');
    described.expectDescribed(await api.call(`/jobs/${id}`), 'get', '/jobs/{id}');
  });

  it('describes refusals', async () => {
    described.expectDescribed(await api.call('/jobs?limit=0'), 'get', '/jobs');
    described.expectDescribed(await api.call('/jobs/job_x'), 'get', '/jobs/{id}');
    described.expectDescribed(await api.call('/jobs/job_x', { method: 'DELETE' }), 'delete', '/jobs/{id}');
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
    for (const answer of refused) described.expectDescribed(answer, 'post', '/jobs');
  });

  it('describes what makes a job', () => {
    expect(described.accepts('/jobs', body)).to.equal(true);
    for (const wrong of [{ service: 'x' }, { inputs: [] }, { inputs: [1] }, { more: 1 }]) {
      expect(described.accepts('/jobs', { ...body, ...wrong }), JSON.stringify(wrong)).to.equal(false);
    }
    const { content } = made.operation('post', '/jobs').requestBody;
    expect(content['multipart/form-data']?.schema).to.have.nested.property('properties.file.type', 'array');
  });
});
