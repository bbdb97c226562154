import { expect } from 'chai';
import { startTestGateway, type TestGateway } from '../../harness.js';
import { sendAllThenRead } from '../../raw-client.js';

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
