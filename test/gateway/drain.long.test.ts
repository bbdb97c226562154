import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js';
import { closed, holdCall, holding } from './held-call.js';

describe('a gateway that is told to stop', () => {
  let dataDir: string;
  let gateway: GatewayProcess | undefined;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  });
  afterEach(async () => {
    await gateway?.stop('SIGKILL');
    gateway = undefined;
    await rm(dataDir, { recursive: true });
  });

  /** Starts one that drains for so long. */
  async function start(drainMs: string): Promise<GatewayProcess & { key: string }> {
    gateway = await startGatewayProcess({ ...holding, HELPER_DATA_DIR: dataDir, HELPER_DRAIN_MS: drainMs });
    return { ...gateway, key: gateway.first_key?.key ?? '' };
  }
  /** Longer than a test may take: what it waits for comes from something else. */
  const forever = '60000';

  async function get(url: string, key = '') {
    const response = await fetch(`${url}${url.includes('?') ? '&' : '?'}ak=${key}`);
    const { error } = (await response.json().catch(() => ({}))) as { error?: { code: string } };
    return { status: response.status, code: error?.code, connection: response.headers.get('connection') };
  }

  /** Until the gateway has taken the signal. */
  async function drained(url: string): Promise<void> {
    while ((await get(`${url}/readyz`)).status !== 503);
  }

  it('serves on after SIGTERM, and tells balancers so', async () => {
    const { url, connect_url, key, child } = await start(forever);
    const release = await holdCall(url, key, dataDir);
    child.kill('SIGTERM');
    await drained(url);
    const closing = { status: 200, code: undefined, connection: 'close' };
    expect(await get(`${url}/readyz`)).to.deep.equal({ ...closing, status: 503, code: 'shutting_down' });
    expect(await get(`${url}/healthz`)).to.deep.equal(closing);
    for (let calls = 0; calls < 5; calls += 1) {
      expect(await get(`${url}/text/diff-two-strings?a=1&b=2`, key)).to.deep.equal(closing);
    }
    expect(await get(`${connect_url}/sign-in`)).to.deep.equal(closing);
    const underWay = await release();
    expect([underWay.status, underWay.headers.get('connection')]).to.deep.equal([200, 'close']);
  });

  it('ends with 0 after that, but not before the calls under way are answered', async () => {
    const { url, key, child, ended } = await start('100');
    const release = await holdCall(url, key, dataDir);
    child.kill('SIGTERM');
    await closed(url);
    expect(child.exitCode).to.equal(null);
    expect((await release()).status).to.equal(200);
    expect(await ended).to.equal(0);
  });

  it('does not wait at SIGINT', async () => {
    expect(await (await start(forever)).stop('SIGINT')).to.equal(0);
  });

  it('ends at once at a second signal', async () => {
    const { url, child, ended } = await start(forever);
    child.kill('SIGTERM');
    await drained(url);
    // One that comes sooner is taken for an echo of the first.
    await sleep(600);
    child.kill('SIGTERM');
    expect(await ended).to.equal(1);
  });
});
