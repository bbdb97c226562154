import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js';

describe('a gateway that is told to stop', () => {
  let dataDir: string;
  let gateway: GatewayProcess;
  let ended: Promise<unknown[]>;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    gateway = await startGatewayProcess({
      HELPER_DATA_DIR: dataDir,
      HELPER_PLUGINS: fixture('plugins/pool'),
      HELPER_DRAIN_MS: '3000',
    });
    ended = once(gateway.child, 'exit');
  });
  afterEach(async () => {
    await gateway.stop('SIGKILL');
    await rm(dataDir, { recursive: true });
  });

  const get = async (path: string, base = gateway.url) => {
    const response = await fetch(
      `${base}${path}${path.includes('?') ? '&' : '?'}ak=${gateway.first_key?.key}`,
    );
    const { error } = (await response.json().catch(() => ({}))) as { error?: { code: string } };
    return { status: response.status, code: error?.code, connection: response.headers.get('connection') };
  };

  /** Until the gateway has taken the signal. */
  async function drained(): Promise<void> {
    while ((await get('/readyz')).status !== 503);
  }

  it('serves on after SIGTERM, tells balancers so, and then ends with 0', async () => {
    const underWay = get('/sleep?ms=1000');
    await new Promise((resolve) => setTimeout(resolve, 300));
    gateway.child.kill('SIGTERM');
    const began = performance.now();
    await drained();
    expect(await get('/readyz')).to.deep.equal({ status: 503, code: 'shutting_down', connection: 'close' });
    expect(await get('/healthz')).to.deep.equal({ status: 200, code: undefined, connection: 'close' });
    for (let calls = 0; calls < 5; calls += 1) {
      expect(await get('/text/diff-two-strings?a=1&b=2')).to.include({ status: 200, connection: 'close' });
    }
    expect(await get('/sign-in', gateway.connect_url)).to.include({ status: 200, connection: 'close' });
    expect(await underWay).to.include({ status: 200, connection: 'close' });
    expect(await ended).to.deep.equal([0, null]);
    expect(performance.now() - began).to.be.above(2_800);
  });

  it('does not wait at SIGINT', async () => {
    const began = performance.now();
    expect(await gateway.stop('SIGINT')).to.equal(0);
    expect(performance.now() - began).to.be.below(2_800);
  });

  it('ends at once at a second signal', async () => {
    gateway.child.kill('SIGTERM');
    await drained();
    await new Promise((resolve) => setTimeout(resolve, 600));
    gateway.child.kill('SIGTERM');
    expect(await ended).to.deep.equal([1, null]);
  });
});
