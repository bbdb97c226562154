import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { until } from '../../until.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { type PostServer, startPostServer } from '../source/post-server.js';

const sources = 'http://127.0.0.1:9100';
const HELPER_OPERATOR_TOKEN = 'operator-token-for-tests-of-32-characters';

describe('webhooks, end to end', () => {
  let receiver: PostServer;
  let world: TestGateway;
  before(async () => {
    receiver = await startPostServer();
    world = await startTestGateway({
      HELPER_WEBHOOK_ORIGINS: receiver.origin,
      HELPER_SOURCE_ORIGINS: sources,
      HELPER_OPERATOR_TOKEN,
    });
  });
  after(async () => {
    await world.close();
    await receiver.close();
  });

  it('go to no origin that is exempt for downloads alone, and downloads to none that is for webhooks', async () => {
    const inputs = [{ text: 'a' }];
    const job = { service: 'text/remove-stopwords', inputs, webhook: { url: `${sources}/hook` } };
    const { status, json } = await world.call('/jobs', { body: job });
    expect([status, json.error.code]).to.deep.equal([400, 'source_refused']);
    const fetched = await world.call(`/media/convert?url=${receiver.origin}/hook`);
    expect([fetched.status, fetched.json.error.code]).to.deep.equal([400, 'source_refused']);
    expect(receiver.received).to.deep.equal([]);
  });

  it('tell that a job has ended, signed by the secret that the operator reads', async () => {
    const body = {
      service: 'text/remove-stopwords',
      inputs: [{ text: 'the cat' }, {}],
      webhook: { url: `${receiver.origin}/hook` },
    };
    const { status, json } = await world.call('/jobs', { body });
    expect(status).to.equal(202);
    await until(() => receiver.received.length > 0);

    const authorization = `Bearer ${HELPER_OPERATOR_TOKEN}`;
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
});
