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
import { formOf } from './api/job-api.js';

describe('jobs, end to end', function () {
  // A gateway starts with its queue.
  this.timeout(30_000);

  const origin = 'https://app.example.com';
  const authorization = `Bearer ${operatorToken}`;
  const sources = 'http://127.0.0.1:9100';
  const dataDir = mkdtempSync(join(tmpdir(), 'helper-gateway-jobs-'));
  let receiver: PostServer;
  let world: TestGateway;
  before(async () => {
    receiver = await startPostServer();
    world = await startTestGateway({
      HELPER_OPERATOR_TOKEN: operatorToken,
      HELPER_CORS_ORIGINS: origin,
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

  const ofOperator = (path: string) =>
    fetch(`${world.gateway.connectUrl}${path}`, { headers: { authorization } });

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
    const form = formOf('service=media/add-border', 'width=3');
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

  it('give facts about pictures', async () => {
    const create = { width: 10, height: 8, channels: 3, background: 'red' } as const;
    const bytes = await sharp({ create }).png().toBuffer();
    const form = formOf('service=media/info', 'thumbhash=false');
    form.append('file', new Blob([new Uint8Array(bytes)]), 'a.png');
    form.append('file', new Blob(['no picture']), 'b.png');
    const id = await make(form);
    expect(await ended(id)).to.include({ total: 2, done: 1, failed: 1 });
    const { json } = await world.call(`/jobs/${id}/items/0`);
    expect(json.data).to.include({ width: 10, height: 8, format: 'png', dominant_color: '#ff0000' });
    expect((await world.call(`/jobs/${id}/items/1`)).json.error.code).to.equal('bad_image');
  });

  it('count each item once in the usage, and are cancelled where they wait', async () => {
    async function calls(): Promise<number> {
      const { data } = await (await ofOperator('/api/tenants/demo/usage')).json();
      const usage = data.usage as { service: string; calls: number }[];
      const rows = usage.filter(({ service }) => service === 'text/remove-stopwords');
      return rows.reduce((sum, row) => sum + row.calls, 0);
    }
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
    const job = { service: 'text/remove-stopwords', inputs: [{ text: 'the cat' }, {}] };
    const id = await make({ ...job, webhook: { url: `${receiver.origin}/hook` } });
    await until(() => receiver.received.length > 0);

    const { webhook_secret } = (await (await ofOperator('/api/tenants/demo')).json()).data;
    const [{ body: sent = '', headers = {} } = {}] = receiver.received;
    const message = new Webhook(webhook_secret).verify(sent, headers as Record<string, string>);
    expect(message).to.have.property('type', 'job.done');
    expect(message).to.deep.nested.include({ 'data.id': id, 'data.done': 1, 'data.failed': 1 });
    const metrics = await (await ofOperator('/metrics')).text();
    expect(metrics).to.include('helper_gateway_webhooks_total{outcome="sent"} 1');
  });

  for (const [what, code, held, free] of [
    ['a suspended tenant', 'tenant_suspended', { state: 'suspended' }, { state: 'active' }],
    ['a paused key', 'key_paused', { state: 'paused' }, { state: 'active' }],
  ] as const)
    it(`wait while they are of ${what}, and go on where they were`, async () => {
      const items = () => world.log.filter(({ msg }) => msg === 'item').length;
      const keyId = world.gateway.firstKey?.id ?? '';
      const path = code === 'key_paused' ? `/api/keys/${keyId}` : '/api/tenants/demo';
      const inputs = Array.from({ length: 600 }, (_, at) => ({ text: `the ${at}` }));
      const before = items();
      const id = await make({ service: 'text/remove-stopwords', inputs });
      await until(() => items() > before);
      await world.manage(path, held, 'PATCH');
      const refused = await world.call(`/jobs/${id}`);
      expect([refused.status, refused.json.error.code]).to.deep.equal([403, code]);
      await until(async () => {
        const seen = items();
        await new Promise((resolve) => setTimeout(resolve, 200));
        return items() === seen;
      });
      expect(items() - before).to.be.below(600);
      await world.manage(path, free, 'PATCH');
      expect(await ended(id)).to.include({ state: 'done', total: 600, done: 600, failed: 0 });
    });

  it('refuse a body that is larger than a job’s at its head', async () => {
    const fields = ['host: x', `authorization: Bearer ${world.key}`, 'content-type: application/json'];
    const head = `POST /jobs HTTP/1.1\r\n${fields.join('\r\n')}\r\ncontent-length: 70000000\r\n\r\n`;
    expect((await sendAllThenRead(world.url, head, 1000)).status).to.equal(413);
  });

  it('let pages of other origins do all that, and see what they need', async () => {
    const [method, header] = ['access-control-request-method', 'access-control-request-headers'];
    const headersOf = { origin, [method]: 'DELETE', [header]: 'idempotency-key' };
    const preflight = await world.call('/jobs/job_x', { method: 'OPTIONS', headers: headersOf });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers.get('access-control-allow-methods')).to.include('DELETE');
    expect(preflight.headers.get('access-control-allow-headers')).to.include('idempotency-key');
    const { headers } = await world.call('/jobs', { headers: { origin } });
    expect(headers.get('access-control-expose-headers')).to.include('location,idempotency-replayed');
  });

  it('leave their items to other processes with HELPER_JOBS=off', async () => {
    const gateway = await startTestGateway({ HELPER_JOBS: 'off', HELPER_DOCS: 'off' });
    try {
      const made = await gateway.call('/jobs', { body: formOf('service=media/resize', 'file@a', 'file@b') });
      expect(made.status).to.equal(202);
      const path = made.headers.get('location') ?? '';
      expect((await gateway.call(path)).json.data).to.include({ total: 2, state: 'waiting' });
      const { data } = (await gateway.call(path, { method: 'DELETE' })).json;
      expect(data).to.include({ id: made.json.data.id, state: 'cancelled', cancelled: 2 });
    } finally {
      await gateway.close();
    }
  });
});
