import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { until } from '../../until.js';
import { operatorToken } from '../gate.js';
import { startTestGateway, type TestGateway } from '../harness.js';

describe('jobs, end to end', function () {
  // A gateway starts with its queue.
  this.timeout(30_000);

  const dataDir = mkdtempSync(join(tmpdir(), 'helper-gateway-jobs-'));
  let world: TestGateway;
  before(async () => {
    world = await startTestGateway({ HELPER_OPERATOR_TOKEN: operatorToken, HELPER_DATA_DIR: dataDir });
  });
  after(async () => {
    await world.close();
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
