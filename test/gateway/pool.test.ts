import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { until } from '../needs.js';
import {
  type Answer,
  createGate,
  type Gate,
  gauge,
  operatorToken,
  startTestGateway,
  type TestGateway,
} from './harness.js';

describe('helpers in the pool', function () {
  // Threads yield to all others, and one has its memory to fill.
  this.timeout(600_000);
  let api: TestGateway;
  let gate: Gate;

  before(async () => {
    api = await startTestGateway({
      HELPER_PLUGINS: `${fixture('plugins/pool')}:${fixture('plugins/good')}`,
      HELPER_POOL_THREADS: '2',
      HELPER_POOL_QUEUE: '2',
      HELPER_OUTPUT_BYTES: '4MB',
      HELPER_OPERATOR_TOKEN: operatorToken,
      // Long enough for a thread that yields to all others to fill its memory on a busy machine.
      HELPER_TASK_TIMEOUT_MS: '600000',
    });
  });

  beforeEach(async () => {
    gate = await createGate();
  });

  afterEach(async () => {
    await gate.open();
    await until(async () => (await places()) === 0);
    await gate.close();
  });

  after(() => api.close());

  const running = () => gauge(api.gateway.connectUrl, 'pool_running');
  const places = () => gauge(api.gateway.connectUrl, 'pool_places');

  async function works(): Promise<void> {
    const { status, json } = await api.call('/echo?value=x');
    expect(status).to.equal(200);
    expect(json.data).to.deep.equal({
      input: { value: 'x' },
      context: { service: 'echo', request_id: json.meta.request_id },
    });
  }

  it('run in so many threads, for the first of which alone a start waits', async () => {
    const ready = await until(async () => {
      const { data } = (await api.call('/readyz', { key: null })).json;
      return data.threads === 2 && data;
    });
    expect(ready).to.deep.equal({ status: 'ready', engine: 'sharp', keys: 'available', threads: 2 });
  });

  it('run in a worker', works);

  it('may import the public interface and their own folder', async () => {
    expect((await api.call('/team/typed?n=21')).json.data).to.deep.equal({ n: 42 });
  });

  it('may refuse input that the schema cannot judge', async () => {
    const { status, json } = await api.call('/team/typed?n=13');
    expect(status).to.equal(400);
    expect(json.error.details).to.deep.equal([{ field: 'n', problem: 'must not be 13' }]);
  });

  it('answer bytes of any memory whole', async () => {
    expect((await api.call('/answer?kind=bytes')).bytes).to.deep.equal(new Uint8Array([1, 2, 3]));
    expect((await api.call('/answer?kind=slice')).bytes).to.deep.equal(new Uint8Array([2, 3]));
    expect(new TextDecoder().decode((await api.call('/answer?kind=pooled')).bytes)).to.equal('pooled');
  });

  it('may answer the same bytes again', async () => {
    for (let call = 0; call < 5; call += 1) {
      expect((await api.call('/answer?kind=kept')).bytes).to.deep.equal(new Uint8Array([7, 8, 9]));
    }
  });

  it('may answer the same picture again', async () => {
    const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
    for (let call = 0; call < 5; call += 1) {
      const body = new FormData();
      body.set('kept', 'true');
      body.set('file', new Blob([gif]), 'dot.gif');
      expect((await api.call('/picture', { body })).status).to.equal(200);
    }
  });

  it('leave nothing in the prototype of all objects for the calls of others', async () => {
    const polluted = async (json: string) =>
      (await api.call('/pollute', { body: { json: json.replace('proto', '"__proto__"') } })).json;
    expect((await polluted('{proto:{"admin":true}}')).error.code).to.equal('internal');
    await polluted('{proto:{"toString":"x"}}');
    // On each of the two threads.
    for (const { data } of await Promise.all(['{}', '{}', '{}', '{}'].map(polluted))) {
      expect(data).to.deep.equal({ admin: null, sound: true });
    }
  });

  it('may rehearse asynchronously, and fail at it without harm', async () => {
    expect((await api.call('/rehearse?dryrun=1')).json.data).to.deep.equal({ rehearsed: true });
    const { status, json } = await api.call('/rehearse?dryrun=1&fail=1');
    expect([status, json.error.code]).to.deep.equal([500, 'internal']);
  });

  const faults = [
    '/throw',
    '/throw?what=undefined',
    '/throw?what=code',
    '/throw?what=later',
    '/exit',
    '/memory',
  ];
  for (const path of [
    ...faults,
    ...[
      'function',
      'bigint',
      'string',
      'nothing',
      'cycle',
      'map',
      'date',
      'buffer',
      'floats',
      'untyped',
      'huge',
    ].map((kind) => `/answer?kind=${kind}`),
  ]) {
    it(`cost their own request alone when they fail: ${path}`, async () => {
      const { status, json } = await api.call(path);
      expect([status, json.error.code]).to.deep.equal([500, 'internal']);
      expect(JSON.stringify(json)).not.to.include('secret');
      await Promise.all([works(), works()]);
    });
  }

  for (const how of ['throw', 'reject']) {
    it(`harm nobody else when they fail after their answer: ${how}`, async () => {
      const strays = await Promise.all([api.call(`/stray?how=${how}`), api.call(`/stray?how=${how}`)]);
      expect(strays.map(({ status }) => status)).to.deep.equal([200, 200]);
      const others = await Promise.all([api.call('/sleep?ms=150'), api.call('/sleep?ms=150')]);
      expect(others.map(({ status }) => status)).to.deep.equal([200, 200]);
    });
  }

  it('are logged whole when they fail in a callback', () => {
    const line = api.log.find(({ err }) => JSON.stringify(err ?? '').includes('secret later'));
    expect(line?.path).to.equal('/throw');
  });

  it('are logged whole when they fail', () => {
    const line = api.log.find(({ path, code }) => path === '/throw' && code === 'internal');
    expect(JSON.stringify(line)).to.include('secret detail').and.to.include('throw.mjs');
  });

  it('are told in the log of the bound of one answer, and of the variable that sets it', () => {
    const line = api.log.find(({ err }) => JSON.stringify(err ?? '').includes('a body of'));
    expect(JSON.stringify(line)).to.include('1048576').and.include('HELPER_OUTPUT_BYTES');
  });

  it('are stopped when they take too long, and run one at a time where they do so again', async () => {
    for (let times = 0; times < 2; times += 1) {
      const { status, json } = await api.call('/loop');
      expect([status, json.error.code]).to.deep.equal([504, 'helper_timeout']);
      await Promise.all([works(), works()]);
    }
    expect((await api.call('/readyz')).json.data.plugins).to.deep.equal({ loop: 'one_at_a_time' });
    expect(await gauge(api.gateway.connectUrl, 'pool_slowed_helpers')).to.equal(1);
    expect(api.log.filter(({ msg }) => String(msg).includes('one at a time'))).to.have.length(1);
  });

  it('are refused with 503 and Retry-After when the queue is full', async () => {
    const answers: Answer[] = [];
    const calls = Array.from({ length: 8 }, async () => answers.push(await api.call(gate.path)));
    await until(() => answers.length === 4);
    for (const { status, json, headers } of answers) {
      expect([status, json.error.code]).to.deep.equal([503, 'busy']);
      expect(Number(headers.get('retry-after'))).to.be.at.least(1);
    }
    await gate.open();
    await Promise.all(calls);
    expect(answers.slice(4).map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
  });

  it('give their place back when the client goes away', async () => {
    const gone = new AbortController();
    const calls = Array.from({ length: 4 }, () =>
      api.call(gate.path, { signal: gone.signal }).catch(() => 'gone'),
    );
    await until(async () => (await places()) === 4 && (await running()) === 2);
    gone.abort();
    expect(await Promise.all(calls)).to.deep.equal(['gone', 'gone', 'gone', 'gone']);
    // The two that waited leave; the two that run hold their threads to the end.
    await until(async () => (await places()) === 2);
    expect(await running()).to.equal(2);
    await gate.open();
    await Promise.all([works(), works()]);
  });

  it('take no place in a dry run', async () => {
    const busy = Array.from({ length: 4 }, () => api.call(gate.path));
    await until(async () => (await places()) === 4);
    expect((await api.call(`${gate.path}&dryrun=1`)).status).to.equal(200);
    await gate.open();
    await Promise.all(busy);
  });
});
