import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { until } from '../needs.js';
import { type Answer, createGate, operatorToken, startTestGateway, type TestGateway } from './harness.js';
import { open } from './raw-client.js';

const policy = /^"rate";q=9;w=1, "quota";q=3;w=\d+, "in-flight";q=1;qu="concurrent-requests"$/;

const ample = { rate: 1000, monthly_quota: 1000, in_flight: 100 };
/** What a tenant and its key have of their own. */
type Own = { scopes?: string[]; limits?: typeof ample };

describe('limits of the API', () => {
  let api: TestGateway;
  before(async function () {
    this.timeout(60_000);
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/pool'),
      HELPER_OPERATOR_TOKEN: operatorToken,
      HELPER_RATE: '9',
      HELPER_MONTHLY_QUOTA: '3',
      HELPER_IN_FLIGHT: '1',
      HELPER_INPUT_BYTES: '4MB',
      HELPER_MAX_IMAGE_BYTES: '1MB',
      HELPER_MAX_JOB_BYTES: '1MB',
      HELPER_POOL_QUEUE: '100',
    });
  });
  after(() => api?.close());

  /** The key of a tenant of its own, which has used nothing yet. */
  async function keyOf(name: string, { scopes, limits }: Own = {}): Promise<string> {
    await api.manage('/api/tenants', { name });
    if (limits) await api.manage(`/api/tenants/${name}`, { ...limits }, 'PATCH');
    return (await api.manage(`/api/tenants/${name}/keys`, scopes && { scopes })).key;
  }

  async function callAs(name: string, own?: Own): Promise<TestGateway['call']> {
    const key = await keyOf(name, own);
    return (path, init) => api.call(path, { ...init, key });
  }

  it('report on a call outside the key’s scopes too what is left, at no cost to the quota', async () => {
    const call = await callAs('scoped', { scopes: ['media/*'] });
    for (let round = 0; round < 2; round += 1) {
      const { status, headers } = await call('/text/remove-stopwords?text=a');
      expect(status).to.equal(403);
      expect(headers.get('ratelimit-policy')).to.match(policy);
      expect(headers.get('ratelimit')).to.match(/^"rate";r=\d;t=1, "quota";r=2;t=\d+$/);
    }
  });

  it('count an answered call against the quota, and no other', async () => {
    const call = await callAs('frugal');
    expect((await call('/text/remove-stopwords')).status).to.equal(400);
    expect((await call('/throw')).status).to.equal(500);
    for (let calls = 0; calls < 2; calls += 1)
      expect((await call('/text/remove-stopwords?text=a')).status).to.equal(200);
    expect((await call('/text/remove-stopwords?text=a')).headers.get('ratelimit')).to.match(/"quota";r=0/);
    const { status, json, headers } = await call('/text/remove-stopwords?text=a');
    expect([status, json.error.code]).to.deep.equal([429, 'quota_exceeded']);
    expect(Number(headers.get('retry-after'))).to.be.within(1, 31 * 86_400);
  });

  it('bound a tenant’s tasks in flight', async () => {
    const call = await callAs('busy');
    const gate = await createGate();
    const calls = [call(gate.path), call(gate.path)];
    const refused = await Promise.race(calls);
    expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'tenant_busy']);
    await gate.open();
    expect((await Promise.all(calls)).map(({ status }) => status)).to.have.members([200, 429]);
    expect((await call(gate.path)).status).to.equal(200);
    await gate.close();
  });

  it('let uploads wait that come all at once, and call none of them slow', async () => {
    const call = await callAs('uploading', { limits: ample });
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => {
        const body = new FormData();
        body.set('file', new Blob([new Uint8Array(900_000)]), 'none.png');
        return call('/media/add-border', { body });
      }),
    );
    expect([...new Set(answers.map(({ status }) => status))]).to.deep.equal([422]);
  });

  it('allow a small body byte by byte, and no large one in small chunks', async () => {
    const key = await keyOf('trickling', { limits: ample });
    async function send(length: number, size: number): Promise<string> {
      const socket = open(api.url);
      const head = `POST /text/remove-stopwords?ak=${key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const body = JSON.stringify({ text: 'a'.repeat(length) });
      const chunks = body.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      const written = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      socket.write(`${head}${written.join('')}0\r\n\r\n`);
      return text(socket.on('error', () => undefined));
    }
    expect(await send(60_000, 1)).to.match(/^HTTP\/1.1 200 /);
    expect(await send(66_000, 16))
      .to.match(/^HTTP\/1.1 400 /)
      .and.include('must come in larger chunks');
  });

  it('refuse what comes beyond the rate, and say so on every answer', async () => {
    const call = await callAs('fast');
    const refusedOf = (answers: Answer[]) => answers.filter(({ status }) => status === 429);
    // As soon as eleven come within a ninth of a second, which a busy machine may not do at once.
    const answers = await until(async () => {
      const eleven = await Promise.all(Array.from({ length: 11 }, () => call('/text/remove-stopwords')));
      if (refusedOf(eleven).length === 2) return eleven;
      // Until all nine may come again: asked at once, some of them never could.
      await sleep(1_000);
      return undefined;
    });
    const refused = refusedOf(answers);
    for (const { json, headers } of refused) {
      expect(json.error.code).to.equal('rate_limited');
      expect(headers.get('retry-after')).to.equal('1');
    }
    for (const { headers } of answers) {
      expect(headers.get('ratelimit-policy')).to.match(policy);
      expect(headers.get('ratelimit')).to.match(/^"rate";r=\d;t=1(, "quota";r=\d;t=\d+)?$/);
    }
  });
});
