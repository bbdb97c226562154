import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { modernAgent } from './agents.js';

const token = 'token-of-this-test-of-32-characters';

describe('limits of tools', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/agents'),
      HELPER_RATE: '12',
      HELPER_MONTHLY_QUOTA: '2',
      HELPER_OPERATOR_TOKEN: token,
    });
  });

  after(() => api.close());

  async function issue(scopes: string[]): Promise<string> {
    const response = await fetch(new URL('/api/tenants/demo/keys', api.gateway.connectUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scopes }),
    });
    return ((await response.json()) as { data: { key: string } }).data.key;
  }

  it('are those of the key: it sees and calls what its scopes allow', async () => {
    const agent = await modernAgent(api.url, await issue(['media/*', 'counted']));
    const names = (await agent.listTools()).tools.map(({ name }) => name);
    const media = ['media_add-border', 'media_add-watermark', 'media_convert', 'media_resize'];
    expect(names).to.deep.equal(['counted', ...media]);
    const { content, isError } = await agent.callTool({ name: 'file' });
    expect(isError).to.equal(true);
    expect(content[0].text).to.equal('scope_denied: This API key may not call this helper.');
    await agent.close();
  });

  it('count a call as one of its helper, and a question against no quota', async () => {
    const agent = await modernAgent(api.url, api.key);
    const call = (bytes: number) => agent.callTool({ name: 'file', arguments: { bytes } });
    await agent.listTools();
    expect((await call(-1)).isError).to.equal(true);
    expect((await call(1)).isError ?? false).to.equal(false);
    expect((await call(1)).isError ?? false).to.equal(false);
    const { content, isError } = await call(1);
    expect(isError).to.equal(true);
    expect(content[0].text).to.match(/^quota_exceeded: .*\nTry again in \d+ s\.$/);
    expect((await agent.listTools()).tools).not.to.have.length(0);
    await agent.close();
  });

  for (const [what, message] of Object.entries({
    questions: { method: 'tools/list' },
    'calls that are none': { method: 'tools/call', params: { name: 'file', arguments: 7 } },
  }))
    it(`hold ${what} to the rate`, async () => {
      const ask = () =>
        api.call('/mcp', {
          body: { jsonrpc: '2.0', id: 1, ...message },
          headers: { accept: 'application/json, text/event-stream' },
        });
      const rush = async () =>
        (await Promise.all(Array.from({ length: 40 }, ask))).filter(({ status }) => status === 429);
      let refused = await rush();
      // A machine that is busy with other things may take more than two seconds for so many.
      for (let tries = 0; tries < 20 && refused.length === 0; tries += 1) refused = await rush();
      expect(refused).not.to.have.length(0);
      expect(refused[0]?.json.error.code).to.equal('rate_limited');
      expect(refused[0]?.headers.get('retry-after')).to.equal('1');
    });
});
