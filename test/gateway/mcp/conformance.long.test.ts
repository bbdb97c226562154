import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { skipWithout } from '../../needs.js';
import { startTestGateway, type TestGateway } from '../harness.js';

/** Those of the protocol's own scenarios that speak of what is served here: tools alone, without sessions. */
const scenarios = [
  ...'server-initialize ping tools-list tools-call-simple-text tools-call-image tools-call-error'.split(' '),
  ...'dns-rebinding-protection http-header-validation input-required-result-unsupported-methods'.split(' '),
];

const { MCP_CONFORMANCE: suite = '' } = process.env;

describe('the protocol’s conformance suite', () => {
  let api: TestGateway;
  let proxy: Server;

  before(async function () {
    // It runs on no older one; the tests beside it do.
    if (Number.parseInt(process.versions.node, 10) < 22) this.skip();
    if (suite === '') skipWithout(this, 'the conformance suite’s script in MCP_CONFORMANCE');
    api = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/conformance') });
    // Adds the key, which the suite cannot send; Host and Origin stay as they came.
    proxy = createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, authorization: `Bearer ${api.key}` };
      const onward = request(`${api.url}${incoming.url}`, { method: incoming.method ?? 'GET', headers });
      onward.on('response', (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      incoming.pipe(onward);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    proxy?.close();
    await api?.close();
  });

  /** What the suite prints of a scenario. */
  function run(scenario: string): Promise<string> {
    const url = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`;
    return new Promise((resolve) => {
      const args = [suite, 'server', '--url', url, '--scenario', scenario];
      execFile(process.execPath, args, (_, stdout, stderr) => resolve(`${stdout}${stderr}`));
    });
  }

  for (const scenario of scenarios) {
    it(`passes ${scenario}`, async () => {
      expect(await run(scenario)).to.match(/^Passed: (\d+)\/\1, 0 failed/m);
    });
  }

  it('passes server-stateless but for what no tool here could show', async () => {
    const printed = await run('server-stateless');
    expect(printed).to.match(/^Passed: 24\/28, 4 failed/m);
    const errors = [...printed.matchAll(/^\s*Error: (.*)$/gm)].map(([, error = '']) => error.slice(0, 13));
    expect(errors).to.deep.equal(Array(4).fill('Not testable:'));
  });
});
