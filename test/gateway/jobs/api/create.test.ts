import { expect } from 'chai';
import { database, StoreError } from '../../../../gateway/database/store-error.js';
import { GatewayError } from '../../../../gateway/errors.js';
import { readJobJson } from '../../../../gateway/jobs/api/read-json.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { formOf, type JobApi, startJobApi } from './job-api.js';

describe('jobs/api: a job made of JSON', () => {
  const service = 'text/remove-stopwords';
  const details = (answer: { json: { error: { details: object[] } } }) => answer.json.error.details;

  let api: JobApi;
  before(async () => {
    api = await startJobApi();
  });
  after(() => api?.close());

  const post = (body: string | Record<string, unknown>, headers: Record<string, string> = {}) =>
    api.call('/jobs', { body, method: 'POST', headers: { 'content-type': 'application/json', ...headers } });

  it('is answered with 202, where it is, and its counts', async () => {
    const { status, headers, json } = await post({ service, inputs: [{ text: 'a' }, { text: 'the b' }] });
    expect(status).to.equal(202);
    const { id, created_at, ...rest } = json.data;
    expect(id).to.match(/^job_[0-9A-Za-z]{22}$/);
    expect(new Date(created_at).toISOString()).to.equal(created_at);
    const counts = { total: 2, done: 0, failed: 0, cancelled: 0 };
    expect(rest).to.deep.equal({ service, state: 'waiting', ...counts, finished_at: null, expires_at: null });
    expect(json.meta).to.include({ service: null, dryrun: false });
    expect(headers.get('location')).to.equal(`/jobs/${id}`);
    expect(headers.get('idempotency-replayed')).to.equal(null);
    expect(headers.get('ratelimit')).to.be.a('string');
    expect(api.woken.at(-1)).to.equal('ten_acme');
    expect(api.codes).not.to.include('counted as a call');
  });

  it('keeps each input as it was written, which is validated when it is worked on', async () => {
    const inputs = [
      '{ "text" : "a\\u00e9é😀", "n": 1.50e+2, "n": 12345678901234567890 }',
      '{"__proto__":{"a":1},"constructor":1}',
      '{}',
    ];
    const body = `\ufeff{"inputs" : [ ${inputs.join(' ,\n')}], "service":"${service}"}`;
    const { status, json } = await post(body);
    expect(status).to.equal(202);
    const items = await api.store.start([0, 1, 2].map((index) => ({ job: json.data.id, index })));
    expect(items.map(({ input }) => input)).to.deep.equal(inputs.map((json) => ({ json, files: [] })));
  });

  it('names every problem at once', async () => {
    const inputs = [{}, 3, 'x', [1, 2], null];
    const body = { service: 'text/remove-stopword', inputs, webhok: 1, webhook: { url: 'x', more: 1 } };
    const answer = await post(body, { 'idempotency-key': 'a b' });
    expect(answer.status).to.equal(400);
    expect(details(answer)).to.deep.equal([
      { field: 'inputs.1', problem: 'must be an object, but is the number 3' },
      { field: 'inputs.2', problem: 'must be an object, but is the string "x"' },
      { field: 'inputs.3', problem: 'must be an object, but is a list of 2' },
      { field: 'inputs.4', problem: 'must be an object, but is null' },
      {
        field: 'webhok',
        problem: 'is not known; known are service, inputs, webhook; did you mean "webhook"?',
      },
      { field: 'webhook.more', problem: 'is not known; known is url' },
      { field: 'Idempotency-Key', problem: 'must be 1 to 255 visible ASCII characters, given once' },
      {
        field: 'service',
        problem:
          'must be the id of a helper, but is the string "text/remove-stopword"; did you mean "text/remove-stopwords"?',
      },
    ]);
  });

  const wrong: [string, string, string][] = [
    ['', 'service', 'is required'],
    ['{}', 'inputs', 'is required'],
    ['[]', 'body', 'must be a JSON object, but is an empty list'],
    ['{"service":', 'body', 'must be JSON that is complete: it breaks off'],
    ["{service:'x'}", 'body', 'must be JSON: what stands at byte 1 cannot stand there'],
    ['{"inputs":[{]}', 'body', 'must be JSON: what stands at byte 12 cannot stand there'],
    [`{"inputs":[{"a":${'['.repeat(50)}`, 'inputs.0', 'must not be nested more than 32 levels deep'],
    ['{"inputs":[]}', 'inputs', 'must be a list of 1 to 10000 objects, but is an empty list'],
    ['{"inputs":{"a":1}}', 'inputs', 'must be a list of 1 to 10000 objects, but is an object'],
    ['{"inputs":null}', 'inputs', 'must be a list of 1 to 10000 objects, but is null'],
    ['{"service":1,"service":2}', 'service', 'must be given once, but is given more than once'],
    ['{"service":null}', 'service', 'is null; leave it out instead'],
    ['{"service":["x"]}', 'service', 'must be the id of a helper, but is a list of 1'],
    ['{"webhook":"https://example.com"}', 'webhook', 'must be a JSON object, but is a string'],
    ['{"webhook":{}}', 'webhook.url', 'is required'],
    ['{"webhook":{"url":["a"]}}', 'webhook.url', 'must be a url, but is a list of 1'],
    [`{"webhook":{"url":"${'x'.repeat(70_000)}"}}`, 'webhook', 'is too long'],
    [`{"${'x'.repeat(7e4)}":1}`, `"${'x'.repeat(60)}…"`, 'is not known; known are service, inputs, webhook'],
  ];
  it('is refused for a body that is wrong, and says where', async () => {
    for (const [body, field, problem] of wrong) {
      const answer = await post(body);
      expect(answer.status, body.slice(0, 40)).to.equal(400);
      expect(details(answer)).to.deep.include({ field, problem });
    }
  });

  it('has 1 to 10,000 inputs', async () => {
    const most = `{"service":"${service}","inputs":[${Array(10_000).fill('{}')}]}`;
    expect((await post(most)).json.data.total).to.equal(10_000);
    const problem = 'must be a list of 1 to 10000 objects, but has more';
    expect(details(await post(most.replace('[{}', '[{},{}')))).to.deep.equal([{ field: 'inputs', problem }]);
  });

  it('names fifty problems and counts the others', async () => {
    const answer = await post({ service, inputs: Array(9_000).fill(1) });
    expect(details(answer)).to.have.length(51);
    expect(details(answer).at(-1)).to.deep.equal({ field: '*', problem: 'has 8950 more problems' });
  });

  it('has inputs of as many names and bytes as a call may have', async () => {
    const names = (count: number) => `{${Array(count).fill('"":0')}}`;
    const answer = await post(`{"service":"${service}","inputs":[${names(1000)},${names(1001)}]}`);
    const problem = 'must not hold more than 1000 names';
    expect(details(answer)).to.deep.equal([{ field: 'inputs.1', problem }]);
    const large = await post(`{"service":"${service}","inputs":[{},${names(2000)}]}`);
    expect(large.status).to.equal(413);
    expect(large.json.error.message).to.equal('inputs.1 has 10001 bytes; 8000 are accepted.');
  });

  it('is refused where the whole body is larger than may be, announced or not', async () => {
    const inputs = Array(300).fill({ text: 'x'.repeat(1500) });
    const answer = await post({ service, inputs });
    expect([answer.status, answer.json.error.code]).to.deep.equal([413, 'too_large']);
    const body = new Blob([JSON.stringify({ service, inputs })]).stream();
    const headers = { 'content-type': 'application/json' };
    const chunked = await api.call('/jobs', { body, method: 'POST', duplex: 'half', headers } as never);
    expect(chunked.status).to.equal(413);
    expect(api.held()).to.equal(0);
  });

  it('is of a media type that is accepted, and not compressed', async () => {
    const message = 'Send application/json or multipart/form-data, not compressed.';
    for (const [name, value] of ['content-type text/plain', 'content-encoding gzip'].map((all) =>
      all.split(' '),
    )) {
      const { status, json } = await post({ service, inputs: [{}] }, { [name ?? '']: value ?? '' });
      expect([status, json.error.message]).to.deep.equal([415, message]);
    }
  });

  it('is of a helper that the key may call', async () => {
    const answer = await api.call('/jobs', { key: 'acme!media/*', body: { service, inputs: [3] } });
    expect([answer.status, answer.json.error.code]).to.deep.equal([403, 'scope_denied']);
    const allowed = await api.call('/jobs', { key: 'acme!text/*', body: { service, inputs: [{}] } });
    expect(allowed.status).to.equal(202);
  });

  it('has a webhook that may be called', async () => {
    const asked = (url: string) => post({ service, inputs: [{}], webhook: { url } });
    for (const url of ['https://example.com/hook', 'http://127.0.0.1:9100/x']) {
      expect((await asked(url)).status, url).to.equal(202);
    }
    for (const url of ['http://example.com/', 'https://127.0.0.1/', 'https://a:b@example.com/']) {
      const { status, json } = await asked(url);
      expect([status, json.error.code], url).to.deep.equal([400, 'source_refused']);
      expect(json.error.message).to.match(/^webhook\.url: This url may not be fetched\./);
      expect(json.error.details).to.deep.equal([{ field: 'webhook.url', problem: 'may not be fetched' }]);
    }
    const { status, json } = await asked('nonsense');
    expect([status, json.error.code]).to.deep.equal([400, 'invalid_input']);
    expect(json.error.details[0].field).to.equal('webhook.url');
  });

  it('has no webhook where nothing could be signed, which names what is missing', async () => {
    const job = { service, inputs: [{}] };
    api.broken.secrets = createSigningSecrets(undefined).webhooks;
    const { status, json } = await post({ ...job, webhook: { url: 'https://example.com/hook' } });
    expect([status, Object.keys(json.error)]).to.deep.equal([503, ['code', 'message']]);
    expect(json.error.code).to.equal('storage_unavailable');
    expect(json.error.message).to.include('HELPER_SIGNING_SECRET');
    expect((await post(job)).status).to.equal(202);
    delete api.broken.secrets;
  });

  it('has nothing in the query but the key', async () => {
    const answer = await api.call(`/jobs?service=${service}`, { body: { service, inputs: [{}] } });
    const problem = 'is not known here; nothing is taken';
    expect(details(answer as never)).to.deep.equal([{ field: 'service', problem }]);
  });

  it('is refused before its body is read where none can be made, or the limits are used up', async () => {
    api.broken.refusal = () => new GatewayError('busy', { message: 'No store.' });
    expect((await post('{')).json.error).to.include({ code: 'busy', message: 'No store.' });
    delete api.broken.refusal;
    api.broken.take = async () => ({
      ...{ allowed: false, code: 'quota_exceeded', message: 'Used up.', retryAfter: 9, headers: {} },
    });
    const { status, headers } = await post('{');
    expect([status, headers.get('retry-after')]).to.deep.equal([429, '9']);
    // It costs no quota itself.
    const settled: number[] = [];
    api.broken.take = async () => ({
      ...{ allowed: true, settle: (status) => settled.push(status), charge: () => ({}) },
    });
    await post({ service, inputs: [{}] });
    expect(settled).to.deep.equal([400]);
    delete api.broken.take;
  });

  describe('with an Idempotency-Key', () => {
    const send = (name: string, body: FormData | Record<string, unknown>) =>
      api.call('/jobs', { key: 'twice', body, headers: { 'idempotency-key': name } });
    const form = (file: string) => formOf('service=media/resize', `file@${file}`);

    it('is the same job for the same request', async () => {
      const body = { service, inputs: [{ text: 'a' }], webhook: { url: 'https://example.com/' } };
      const before = api.woken.length;
      const first = await send('k1', body);
      const again = await send('k1', { webhook: body.webhook, inputs: body.inputs, service });
      expect([first.status, again.status]).to.deep.equal([202, 202]);
      expect(again.json.data).to.deep.equal(first.json.data);
      expect(again.headers.get('location')).to.equal(first.headers.get('location'));
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      expect(api.woken).to.have.length(before + 1);
    });

    it('refuses another request', async () => {
      const body = { service, inputs: [{ text: 'a' }, { text: 'b' }] };
      await send('k2', body);
      for (const change of [
        { inputs: [{ text: 'a' }] },
        { inputs: [{ text: 'b' }, { text: 'a' }] },
        { webhook: { url: 'https://example.com/' } },
        { service: 'text/diff-two-strings' },
      ]) {
        const { status, json } = await send('k2', { ...body, ...change });
        expect([status, json.error.code]).to.deep.equal([409, 'conflict']);
        expect(json.error.message).to.match(/^This Idempotency-Key was used for another request/);
      }
    });

    it('knows a form by its files, whatever its boundary, and keeps none of them twice', async () => {
      const first = await send('k4', form('one'));
      const before = api.stored.size;
      expect((await send('k4', form('one'))).json.data.id).to.equal(first.json.data.id);
      for (const other of ['two', 'one;b.png']) expect((await send('k4', form(other))).status).to.equal(409);
      expect(api.stored.size).to.equal(before);
    });

    it('has 1 to 255 visible characters', async () => {
      for (const name of ['', 'x'.repeat(256), 'a b', 'é']) {
        const { status, json } = await send(name, { service, inputs: [{}] });
        expect([status, json.error.details[0].field], name).to.deep.equal([400, 'Idempotency-Key']);
      }
      expect((await send('x'.repeat(255), { service, inputs: [{}] })).status).to.equal(202);
    });
  });

  it('is found with its files where the answer of the database was lost', async () => {
    const { store } = api;
    api.broken.store = {
      async create(job, inputs) {
        await store.create(job, inputs);
        throw new StoreError(database, new Error('connection lost'));
      },
    };
    const { status, json } = await api.call('/jobs', { body: formOf('service=media/resize', 'file@kept') });
    delete api.broken.store;
    expect(status).to.equal(202);
    expect(api.stored.has(`${json.data.id}/in/0/file`)).to.equal(true);
  });

  it('leaves no file where it could not be made', async () => {
    const before = api.stored.size;
    const statusOf = async () =>
      (await api.call('/jobs', { body: formOf('service=media/resize', 'file@kept') })).status;
    api.broken.store = { create: () => Promise.reject(new Error('constraint')) };
    expect(await statusOf()).to.equal(500);
    delete api.broken.store;
    api.broken.look = () => {
      api.broken.refusal = () => new GatewayError('busy');
    };
    expect(await statusOf()).to.equal(503);
    delete api.broken.look;
    delete api.broken.refusal;
    expect(api.stored.size).to.equal(before);
  });
});

describe('jobs/api: the JSON of a large body', () => {
  const limits = { maxTextBytes: 10_000 };
  const read = (text: string) => readJobJson(Buffer.from(text), limits, () => undefined);

  it('is read in stretches, between which others go on', async () => {
    const input = JSON.stringify({ text: 'x'.repeat(900) });
    const body = Buffer.from(`{"service":"a","inputs":[${Array(5_000).fill(input)}]}`);
    const yields: true[] = [];
    const { inputs = [] } = await readJobJson(body, limits, () => void yields.push(true));
    expect(inputs).to.have.length(5_000);
    expect(inputs.every((each) => each.toString() === input)).to.equal(true);
    // Parts of the body, not copies.
    expect(inputs.every(({ buffer }) => buffer === body.buffer)).to.equal(true);
    expect(yields.length).to.be.within(body.length / 65_536 - 1, body.length / 65_536 + 2);
  });

  it('is not decoded for a name that is longer than that of any field', async () => {
    const names = Array.from({ length: 900 }, (_, at) => `"${'a'.repeat(20_000)}${at}":1`);
    const { parse } = JSON;
    let parsed = 0;
    JSON.parse = (...given) => {
      parsed += given[0].length;
      return parse(...given);
    };
    try {
      const { problems } = await read(`{${names.join(',')},"service":"a","inputs":[{}]}`);
      expect(problems).to.have.length(900);
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).to.be.below(100);
  });

  it('has the field that was meant looked for only as often as problems are reported', async () => {
    const names = Array.from({ length: 900 }, (_, at) => `"servicf${at % 10}":1`);
    const { problems } = await read(`{${names.join(',')}}`);
    expect(problems.filter(({ problem }) => problem.includes('did you mean'))).to.have.length(50);
  });
});
