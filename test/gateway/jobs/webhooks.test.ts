import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { until } from '../../until.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { type PostServer, startPostServer } from '../source/post-server.js';

const HELPER_OPERATOR_TOKEN = 'operator-token-for-tests-of-32-characters';

describe('webhooks, end to end', () => {
  let receiver: PostServer;
  let world: TestGateway;
  before(async () => {
    receiver = await startPostServer();
    world = await startTestGateway({ HELPER_SOURCE_ORIGINS: receiver.origin, HELPER_OPERATOR_TOKEN });
  });
  after(async () => {
    await world.close();
    await receiver.close();
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
