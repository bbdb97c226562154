import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { Webhook } from 'standardwebhooks';
import { until } from '../../needs.js';
import { type PostServer, startPostServer } from '../download/post-server.js';
import { operatorToken, startTestGateway, type TestGateway } from '../harness.js';
import { sendAllThenRead } from '../raw-client.js';

describe('jobs, end to end', function () {
  // A gateway starts with its queue.
  this.timeout(30_000);

  const sources = 'http://127.0.0.1:9100';
  const dataDir = mkdtempSync(join(tmpdir(), 'helper-gateway-jobs-'));
  let receiver: PostServer;
  let world: TestGateway;
  before(async () => {
    receiver = await startPostServer();
    world = await startTestGateway({
      HELPER_OPERATOR_TOKEN: operatorToken,
      HELPER_DATA_DIR: dataDir,
      HELPER_WEBHOOK_ORIGINS: receiver.origin,
      HELPER_SOURCE_ORIGINS: sources,
    });
  });
  after(async () => {
    await world.close();
    await receiver.close();
    rmSync(dataDir, { recursive: true });
  });

  async function make(body: Record<string, unknown> | FormData): Promise<string> {
    const { status, json } = await world.call('/jobs', { method: 'POST', body });
    expect(status, JSON.stringify(json)).to.equal(202);
    return json.data.id;
  }

  async function ended(id: string) {
    return until(async () => {
      const { json } = await world.call(`/jobs/${id}`);
      return ['waiting', 'running'].includes(json.data.state) ? undefined : json.data;
    });
  }

  it('work on each item as a call of its helper, of which an invalid one fails alone', async () => {
    const inputs = [{ a: 'one', b: 'two' }, { a: 'one' }, { a: 'same', b: 'same', context: 2 }];
    const id = await make({ service: 'text/diff-two-strings', inputs });
    const job = await ended(id);
    expect(job).to.include({ state: 'done', total: 3, done: 2, failed: 1 });
    expect(job.items[1].error).to.deep.include({ code: 'invalid_input' });
    const direct = await world.call('/text/diff-two-strings', { body: inputs[0] as Record<string, unknown> });
    const item = await world.call(`/jobs/${id}/items/0`);
    expect(item.status).to.equal(200);
    expect(item.json.data).to.deep.equal(direct.json.data);
    const wrong = await world.call(`/jobs/${id}/items/1`);
    expect(wrong.status).to.equal(400);
    expect(wrong.json.error.details).to.deep.equal(job.items[1].error.details);
  });

  it('give pictures as the helper would', async () => {
    const create = { width: 10, height: 8, channels: 3, background: 'red' } as const;
    const bytes = await sharp({ create }).png().toBuffer();
    const form = new FormData();
    form.set('service', 'media/add-border');
    form.set('width', '3');
    for (const name of ['a.png', 'b.png']) form.append('file', new Blob([new Uint8Array(bytes)]), name);
    const id = await make(form);
    expect(await ended(id)).to.include({ state: 'done', total: 2, done: 2 });
    const kept = () => readdirSync(join(dataDir, 'results'), { recursive: true }).map(String);
    await until(() => !kept().some((path) => path.includes(`${id}/in/`)));
    expect(kept().filter((path) => path.includes(`${id}/out/`))).to.have.length(2);
    const picture = await world.call(`/jobs/${id}/items/1`);
    expect(picture.headers.get('content-type')).to.equal('image/png');
    expect([...picture.bytes.subarray(1, 4)]).to.deep.equal([...Buffer.from('PNG')]);
  });

  it('count each item once in the usage, and are called off where they wait', async () => {
    const calls = () => usageOf('text/remove-stopwords');
    const before = await calls();
    const inputs = Array.from({ length: 300 }, (_, at) => ({ text: `the ${at}` }));
    const id = await make({ service: 'text/remove-stopwords', inputs });
    const { json } = await world.call(`/jobs/${id}`, { method: 'DELETE' });
    expect(json.data.cancelled).to.be.at.most(300);
    const job = await ended(id);
    expect(job.done + job.cancelled).to.equal(300);
    expect(job.failed).to.equal(0);
    expect((await calls()) - before).to.equal(job.done);
  });

  it('send webhooks to no origin that is exempt for downloads alone, and downloads to none that is for webhooks', async () => {
    const inputs = [{ text: 'a' }];
    const job = { service: 'text/remove-stopwords', inputs, webhook: { url: `${sources}/hook` } };
    const { status, json } = await world.call('/jobs', { body: job });
    expect([status, json.error.code]).to.deep.equal([400, 'source_refused']);
    const fetched = await world.call(`/media/convert?url=${receiver.origin}/hook`);
    expect([fetched.status, fetched.json.error.code]).to.deep.equal([400, 'source_refused']);
    expect(receiver.received).to.deep.equal([]);
  });

  it('send a webhook when they have ended, signed by the secret that the operator reads', async () => {
    const body = {
      service: 'text/remove-stopwords',
      inputs: [{ text: 'the cat' }, {}],
      webhook: { url: `${receiver.origin}/hook` },
    };
    const { status, json } = await world.call('/jobs', { body });
    expect(status).to.equal(202);
    await until(() => receiver.received.length > 0);

    const authorization = `Bearer ${operatorToken}`;
    const tenant = await fetch(`${world.gateway.connectUrl}/api/tenants/demo`, {
      headers: { authorization },
    });
    const { webhook_secret } = (await tenant.json()).data;
    const [{ body: sent = '', headers = {} } = {}] = receiver.received;
    const told = new Webhook(webhook_secret).verify(sent, headers as Record<string, string>);
    expect(told).to.have.property('type', 'job.done');
    expect(told).to.deep.nested.include({ 'data.id': json.data.id, 'data.done': 1, 'data.failed': 1 });
    const metrics = await fetch(`${world.gateway.connectUrl}/metrics`, { headers: { authorization } });
    expect(await metrics.text()).to.include('helper_gateway_webhooks_total{outcome="sent"} 1');
  });

  async function usageOf(service: string): Promise<number> {
    const headers = { authorization: `Bearer ${operatorToken}` };
    const answer = await fetch(`${world.gateway.connectUrl}/api/tenants/demo/usage`, { headers });
    const { data } = await answer.json();
    const rows = (data.usage as { service: string; calls: number }[]).filter(
      (row) => row.service === service,
    );
    return rows.reduce((sum, row) => sum + row.calls, 0);
  }
});

const origin = 'https://app.example.com';

describe('jobs/api: in a gateway', function () {
  // A gateway starts with its queue.
  this.timeout(30_000);

  let gateway: TestGateway;
  before(async () => {
    // Nobody works on them here.
    const env = { HELPER_JOBS: 'off', HELPER_CORS_ORIGINS: origin, HELPER_DOCS: 'off', LOG_LEVEL: 'silent' };
    gateway = await startTestGateway(env);
  });
  after(() => gateway?.close());

  it('makes jobs, shows them and cancels them', async () => {
    const body = new FormData();
    body.append('service', 'media/resize');
    for (const name of ['a', 'b']) body.append('file', new Blob(['x'], { type: 'image/png' }), name);
    const made = await gateway.call('/jobs', { body });
    expect(made.status, JSON.stringify(made.json)).to.equal(202);
    const path = made.headers.get('location') ?? '';
    expect((await gateway.call(path)).json.data).to.include({
      id: made.json.data.id,
      total: 2,
      state: 'waiting',
    });
    expect((await gateway.call(path, { method: 'DELETE' })).json.data).to.include({
      state: 'cancelled',
      cancelled: 2,
    });
    expect((await gateway.call('/jobs')).json.data.jobs).to.have.length(1);
  });

  it('refuses a body that is larger than a job’s at its head', async () => {
    const fields = ['host: x', `authorization: Bearer ${gateway.key}`, 'content-type: application/json'];
    const head = `POST /jobs HTTP/1.1\r\n${fields.join('\r\n')}\r\ncontent-length: 70000000\r\n\r\n`;
    expect((await sendAllThenRead(gateway.url, head, 1000)).status).to.equal(413);
  });

  it('lets pages of other origins do all that, and see what they need', async () => {
    const asked = {
      'access-control-request-method': 'DELETE',
      'access-control-request-headers': 'idempotency-key',
    };
    const preflight = await gateway.call('/jobs/job_x', { method: 'OPTIONS', headers: { origin, ...asked } });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers.get('access-control-allow-methods')).to.include('DELETE');
    expect(preflight.headers.get('access-control-allow-headers')).to.include('idempotency-key');
    const { headers } = await gateway.call('/jobs', { headers: { origin } });
    expect(headers.get('access-control-expose-headers')).to.include('location,idempotency-replayed');
  });
});
