import { execFile } from 'node:child_process';
import type { Server } from 'node:http';
import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { skipWithout } from '../../needs.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { startKeyProxy } from './agents.js';

/** Those of the protocol's own scenarios that speak of what is served here: tools alone, without sessions. */
const scenarios = [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-error',
  'dns-rebinding-protection',
  'http-header-validation',
  'input-required-result-unsupported-methods',
];

const { MCP_CONFORMANCE: suite = '' } = process.env;
const major = Number(process.versions.node.split('.')[0]);

/** What the suite prints of a scenario. */
function run(url: string, scenario: string): Promise<string> {
  const args = [suite, 'server', '--url', `${url}/mcp`, '--scenario', scenario];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (_, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
}

describe('the protocol’s conformance suite', () => {
  let api: TestGateway;
  let proxy: { url: string; server: Server };

  before(async function () {
    // It runs on no older one; the tests beside it do.
    if (major < 22) this.skip();
    if (suite === '') skipWithout(this, 'the conformance suite’s script in MCP_CONFORMANCE');
    api = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/conformance') });
    proxy = await startKeyProxy(api.url, api.key);
  });

  after(async () => {
    proxy?.server.close();
    await api?.close();
  });

  for (const scenario of scenarios) {
    it(`passes ${scenario}`, async () => {
      expect(await run(proxy.url, scenario)).to.match(/^Passed: (\d+)\/\1, 0 failed/m);
    });
  }

  it('passes server-stateless but for what no tool here could show', async () => {
    const said = await run(proxy.url, 'server-stateless');
    expect(said).to.match(/^Passed: 24\/28, 4 failed/m);
    const errors = [...said.matchAll(/^\s*Error: (.*)$/gm)].map(([, error = '']) => error.slice(0, 13));
    expect(errors).to.deep.equal(Array(4).fill('Not testable:'));
  });
});
