import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { until } from '../needs.js';
import {
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
    const context = { service: 'echo', request_id: json.meta.request_id };
    expect([status, json.data]).to.deep.equal([200, { input: { value: 'x' }, context }]);
  }

  it('run in so many threads, for the first of which alone a start waits', async () => {
    const ready = await until(async () => {
      const { data } = (await api.call('/readyz', { key: null })).json;
      return data.threads === 2 && data;
    });
    expect(ready).to.deep.equal({ status: 'ready', engine: 'sharp', keys: 'available', threads: 2 });
  });

  it('answer bytes of any memory whole, the same bytes or picture again too', async () => {
    for (const [kind, bytes] of [
      ['bytes', [1, 2, 3]],
      ['slice', [2, 3]],
      ['pooled', [...Buffer.from('pooled')]],
      ...Array(3).fill(['kept', [7, 8, 9]]),
    ] as const)
      expect([...(await api.call(`/answer?kind=${kind}`)).bytes]).to.deep.equal(bytes);
    const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
    for (let call = 0; call < 3; call += 1) {
      const body = new FormData();
      body.set('kept', 'true');
      body.set('file', new Blob([gif]), 'dot.gif');
      expect((await api.call('/picture', { body })).status).to.equal(200);
    }
  });

  it('may import the public interface and their own folder, and refuse what a schema cannot express', async () => {
    expect((await api.call('/team/typed?n=21')).json.data).to.deep.equal({ n: 42 });
    const { status, json } = await api.call('/team/typed?n=13');
    const details = [{ field: 'n', problem: 'must not be 13' }];
    expect([status, json.error.details]).to.deep.equal([400, details]);
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

  it('may make a dry run asynchronously, and fail at it without harm', async () => {
    expect((await api.call('/rehearse?dryrun=1')).json.data).to.deep.equal({ rehearsed: true });
    const { status, json } = await api.call('/rehearse?dryrun=1&fail=1');
    expect([status, json.error.code]).to.deep.equal([500, 'internal']);
  });

  const kinds = 'function bigint string nothing cycle map date buffer floats untyped huge'.split(' ');
  for (const path of [
    ...['/throw', '/throw?what=undefined', '/throw?what=code', '/throw?what=later', '/exit', '/memory'],
    ...kinds.map((kind) => `/answer?kind=${kind}`),
  ]) {
    it(`cost their own request alone when they fail: ${path}`, async () => {
      const { status, json } = await api.call(path);
      expect([status, json.error.code]).to.deep.equal([500, 'internal']);
      expect(JSON.stringify(json)).not.to.include('secret');
      await Promise.all([works(), works()]);
    });
  }

  for (const how of ['throw', 'reject']) {
    it(`harm no other call when they fail after their answer: ${how}`, async () => {
      for (const path of [`/stray?how=${how}`, '/sleep?ms=150']) {
        const answers = await Promise.all([api.call(path), api.call(path)]);
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      }
    });
  }

  it('are logged whole when they fail, with the bound of an answer and the variable that sets it', () => {
    const lines = api.log.map((line) => JSON.stringify(line));
    for (const parts of [
      ['secret later', '"path":"/throw"'],
      ['secret detail', '"path":"/throw"', '"code":"internal"', 'throw.mjs'],
      ['a body of', '1048576', 'HELPER_OUTPUT_BYTES'],
    ])
      expect(
        lines.some((line) => parts.every((part) => line.includes(part))),
        parts.join(),
      ).to.equal(true);
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
    const answers: Awaited<ReturnType<TestGateway['call']>>[] = [];
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

  it('give their slot back when the client goes away', async () => {
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

  it('need no slot for a dry run', async () => {
    const busy = Array.from({ length: 4 }, () => api.call(gate.path));
    await until(async () => (await places()) === 4);
    expect((await api.call(`${gate.path}&dryrun=1`)).status).to.equal(200);
    await gate.open();
    await Promise.all(busy);
  });
});
