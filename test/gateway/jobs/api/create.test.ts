import { expect } from 'chai';
import { type JobApi, startJobApi } from './job-api.js';

const service = 'text/remove-stopwords';
const details = (answer: { json: { error: { details: object[] } } }) => answer.json.error.details;

describe('jobs/api: a job made of JSON', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi();
  });
  after(() => api?.close());

  const post = (body: string | Record<string, unknown>, headers: Record<string, string> = {}) =>
    api.call('/jobs', { body, method: 'POST', headers: { 'content-type': 'application/json', ...headers } });

  /** What the items of a job were given. */
  async function givenOf(id: string) {
    const items = [...Array(4).keys()].map((index) => ({ job: id, index }));
    return (await api.store.start(items)).map(({ input }) => input);
  }

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

  it('keeps each input as it was written', async () => {
    const inputs = [
      '{ "text" : "a\\u00e9é😀", "n": 1.50e+2, "n": 12345678901234567890 }',
      '{"__proto__":{"a":1},"constructor":1}',
      '{}',
    ];
    const { status, json } = await post(
      `\ufeff{"inputs" : [ ${inputs.join(' ,\n')}], "service":"${service}"}`,
    );
    expect(status).to.equal(202);
    expect(await givenOf(json.data.id)).to.deep.equal(inputs.map((json) => ({ json, files: [] })));
  });

  it('takes inputs that no helper would take: each is judged when it is worked on', async () => {
    const { status } = await post({ service, inputs: [{}, { nonsense: null }, { text: 7 }] });
    expect(status).to.equal(202);
  });

  it('names every problem at once', async () => {
    const body = {
      service: 'text/remove-stopword',
      inputs: [{}, 3, 'x', [1, 2], null],
      webhok: 1,
      webhook: { url: 'x', more: 1 },
    };
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
    [
      `{"${'x'.repeat(70_000)}":1}`,
      `"${'x'.repeat(60)}…"`,
      'is not known; known are service, inputs, webhook',
    ],
  ];
  for (const [body, field, problem] of wrong) {
    it(`is refused for ${JSON.stringify(body.slice(0, 40))}: ${field} ${problem}`, async () => {
      const answer = await post(body);
      expect(answer.status).to.equal(400);
      expect(details(answer)).to.deep.include({ field, problem });
    });
  }

  it('has 1 to 10,000 inputs', async () => {
    const most = `{"service":"${service}","inputs":[${Array(10_000).fill('{}')}]}`;
    expect((await post(most)).json.data.total).to.equal(10_000);
    const answer = await post(most.replace('[{}', '[{},{}'));
    expect(answer.status).to.equal(400);
    const problem = 'must be a list of 1 to 10000 objects, but has more';
    expect(details(answer)).to.deep.equal([{ field: 'inputs', problem }]);
  });

  it('tells of fifty problems and counts the others', async () => {
    const answer = await post({ service, inputs: Array(9_000).fill(1) });
    expect(details(answer)).to.have.length(51);
    expect(details(answer).at(-1)).to.deep.equal({ field: '*', problem: 'has 8950 more problems' });
  });

  it('takes an input of as many names and bytes as a call may have', async () => {
    const names = (count: number) => `{${Array(count).fill('"":0')}}`;
    const answer = await post(`{"service":"${service}","inputs":[${names(1000)},${names(1001)}]}`);
    expect(details(answer)).to.deep.equal([
      { field: 'inputs.1', problem: 'must not hold more than 1000 names' },
    ]);
    const large = await post(`{"service":"${service}","inputs":[{},${names(2000)}]}`);
    expect(large.status).to.equal(413);
    expect(large.json.error.message).to.equal('inputs.1 has 10001 bytes; 8000 are accepted.');
  });

  it('is refused where the whole body is larger than may be, announced or not', async () => {
    const inputs = Array(300).fill({ text: 'x'.repeat(1500) });
    const answer = await post({ service, inputs });
    expect([answer.status, answer.json.error.code]).to.deep.equal([413, 'too_large']);
    const stream = new Blob([JSON.stringify({ service, inputs })]).stream();
    const init = {
      body: stream,
      method: 'POST',
      duplex: 'half',
      headers: { 'content-type': 'application/json' },
    };
    const chunked = await api.call('/jobs', init as never);
    expect(chunked.status).to.equal(413);
    expect(api.held()).to.equal(0);
  });

  it('is of a media type that is taken, and not compressed', async () => {
    for (const headers of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }] as const) {
      const answer = await post(`{"service":"${service}","inputs":[{}]}`, headers as never);
      expect([answer.status, answer.json.error.message]).to.deep.equal([
        415,
        'Send application/json or multipart/form-data, not compressed.',
      ]);
    }
  });

  it('is of a helper that the key may call', async () => {
    const answer = await api.call('/jobs', { key: 'acme!media/*', body: { service, inputs: [3] } });
    expect([answer.status, answer.json.error.code]).to.deep.equal([403, 'scope_denied']);
    const taken = await api.call('/jobs', { key: 'acme!text/*', body: { service, inputs: [{}] } });
    expect(taken.status).to.equal(202);
  });

  it('tells of a url that may be fetched, and none else', async () => {
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
    const none = await asked('nonsense');
    expect([none.status, none.json.error.code]).to.deep.equal([400, 'invalid_input']);
    expect(none.json.error.details[0].field).to.equal('webhook.url');
  });

  it('takes nothing in the query but the key', async () => {
    const answer = await api.call(`/jobs?service=${service}`, { body: { service, inputs: [{}] } });
    expect(details(answer as never)).to.deep.equal([
      { field: 'service', problem: 'is not known here; nothing is taken' },
    ]);
  });

  it('is refused before its body is read where none can be made, or the limits are used up', async () => {
    const { GatewayError } = await import('../../../../gateway/errors.js');
    api.broken.refusal = () => new GatewayError('busy', { message: 'No store.' });
    expect((await post('{')).json.error).to.include({ code: 'busy', message: 'No store.' });
    delete api.broken.refusal;
    api.broken.take = () => ({ allowed: false, code: 'quota_exceeded', retryAfter: 9, headers: {} });
    const { status, headers } = await post('{');
    expect([status, headers.get('retry-after')]).to.deep.equal([429, '9']);
    delete api.broken.take;
  });

  it('costs no quota itself', async () => {
    const settled: number[] = [];
    api.broken.take = () => ({ allowed: true, headers: {}, settle: (status) => settled.push(status) });
    await post({ service, inputs: [{}] });
    expect(settled).to.deep.equal([400]);
    delete api.broken.take;
  });
});
