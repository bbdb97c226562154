import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { until } from '../until.js';
import { createGate } from './gate.js';
import { type Answer, startTestGateway, type TestGateway } from './harness.js';
import { open } from './raw-client.js';

describe('limits of the API', () => {
  let api: TestGateway | undefined;

  afterEach(async () => {
    await api?.close();
    api = undefined;
  });

  async function start(env: Record<string, string>): Promise<TestGateway> {
    api = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/pool'), ...env });
    return api;
  }

  it('refuse what comes beyond the rate, and say so on every answer', async () => {
    const { call } = await start({ HELPER_RATE: '3' });
    const refusedOf = (answers: Answer[]) => answers.filter(({ status }) => status === 429);
    // As soon as five come within one second, which a busy machine may not do at once.
    const answers = await until(async () => {
      const five = await Promise.all(
        Array.from({ length: 5 }, () => call('/text/remove-stopwords?dryrun=1')),
      );
      return refusedOf(five).length === 2 ? five : undefined;
    });
    const refused = refusedOf(answers);
    for (const { json, headers } of refused) {
      expect(json.error.code).to.equal('rate_limited');
      expect(headers.get('retry-after')).to.equal('1');
    }
    for (const { headers } of answers) {
      expect(headers.get('ratelimit-policy')).to.equal('"rate";q=3;w=1');
      expect(headers.get('ratelimit')).to.match(/^"rate";r=\d;t=1$/);
    }
  });

  it('tell on a call outside the key’s scopes too what is left, at no cost to the quota', async () => {
    const { call, gateway } = await start({
      HELPER_RATE: '9',
      HELPER_MONTHLY_QUOTA: '5',
      HELPER_OPERATOR_TOKEN: 'token-of-this-test-of-32-characters',
    });
    const response = await fetch(new URL('/api/tenants/demo/keys', gateway.connectUrl), {
      method: 'POST',
      headers: {
        authorization: 'Bearer token-of-this-test-of-32-characters',
        'content-type': 'application/json',
      },
      body: '{"scopes":["media/*"]}',
    });
    const { data } = (await response.json()) as { data: { key: string } };
    for (let round = 0; round < 2; round += 1) {
      const { status, headers } = await call('/text/remove-stopwords?text=a', { key: data.key });
      expect(status).to.equal(403);
      expect(headers.get('ratelimit-policy')).to.match(/^"rate";q=9;w=1, "quota";q=5;w=\d+$/);
      expect(headers.get('ratelimit')).to.match(/^"rate";r=\d;t=1, "quota";r=4;t=\d+$/);
    }
  });

  it('count an answered call against the quota, and no other', async () => {
    const { call } = await start({ HELPER_MONTHLY_QUOTA: '2' });
    expect((await call('/text/remove-stopwords')).status).to.equal(400);
    expect((await call('/throw')).status).to.equal(500);
    expect((await call('/text/remove-stopwords?text=a')).status).to.equal(200);
    expect((await call('/text/remove-stopwords?text=a')).headers.get('ratelimit')).to.match(/"quota";r=0/);
    const { status, json, headers } = await call('/text/remove-stopwords?text=a');
    expect([status, json.error.code]).to.deep.equal([429, 'quota_exceeded']);
    expect(Number(headers.get('retry-after'))).to.be.within(1, 31 * 86_400);
  });

  it('bound a tenant’s tasks in flight', async () => {
    const { call } = await start({ HELPER_IN_FLIGHT: '1' });
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
    const { call } = await start({
      HELPER_INPUT_BYTES: '4MB',
      HELPER_MAX_IMAGE_BYTES: '1MB',
      HELPER_MAX_JOB_BYTES: '1MB',
      HELPER_POOL_QUEUE: '100',
    });
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => {
        const body = new FormData();
        body.set('file', new Blob([new Uint8Array(900_000)]), 'none.png');
        return call('/media/add-border', { body });
      }),
    );
    expect([...new Set(answers.map(({ status }) => status))]).to.deep.equal([422]);
  });

  it('take a small body byte by byte, and no large one', async () => {
    const { url, key } = await start({});
    async function send(length: number): Promise<string> {
      const socket = open(url);
      const head = `POST /text/remove-stopwords?ak=${key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const body = JSON.stringify({ text: 'a'.repeat(length) });
      socket.write(`${head}${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`);
      socket.on('error', () => undefined);
      let answer = '';
      for await (const data of socket) answer += data;
      return answer;
    }
    expect(await send(60_000)).to.match(/^HTTP\/1.1 200 /);
    expect(await send(200_000))
      .to.match(/^HTTP\/1.1 400 /)
      .and.include('must come in larger chunks');
  });

  it('say nothing where there is none', async () => {
    const { call } = await start({ HELPER_RATE: '0' });
    const { headers } = await call('/text/remove-stopwords?text=a');
    expect(headers.get('ratelimit-policy')).to.equal(null);
  });
});
