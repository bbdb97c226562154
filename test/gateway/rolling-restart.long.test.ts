import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { skipWithout } from '../needs.js';
import { type Balancer, freePorts, haproxy, startHaproxy } from './haproxy.js';
import { type GatewayProcess, startGatewayProcess } from './harness.js';
import { closed, holdCall, holding } from './raw-client.js';

describe('a rolling restart behind HAProxy', function () {
  this.timeout(120_000);
  const clientCount = 16;
  let dataDir: string;
  let port: number;
  let ports: number[];
  let balancer: Balancer | undefined;
  let key: string;
  const gateways: GatewayProcess[] = [];
  let isOver = false;
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount });

  const start = (each: number) =>
    startGatewayProcess({
      HELPER_DATA_DIR: dataDir,
      PORT: String(each),
      HELPER_RATE: '0',
      // Beside the 400 ms in which HAProxy should notice: a busy machine takes longer.
      HELPER_DRAIN_MS: '4000',
    });

  before(async function () {
    if (!haproxy) skipWithout(this, 'haproxy');
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    [port = 0, ...ports] = await freePorts(3);
    for (const each of ports) gateways.push(await start(each));
    key = gateways[0]?.first_key?.key ?? '';
    balancer = await startHaproxy({ folder: dataDir, port, gateways: ports });
  });
  after(async () => {
    isOver = true;
    agent.destroy();
    balancer?.process.kill('SIGKILL');
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGKILL')));
    if (dataDir) await rm(dataDir, { recursive: true });
  });

  /** A GET or a POST, which no balancer may send twice; gives 200, or what came instead. */
  function call(at: number): Promise<number | string> {
    const path = `/text/remove-stopwords?ak=${key}`;
    return new Promise((resolve) => {
      const options = { host: '127.0.0.1', port, agent };
      const sent =
        at % 2 === 0
          ? request({ ...options, path: `${path}&dryrun=1` })
          : request({ ...options, path, method: 'POST', headers: { 'content-type': 'application/json' } });
      sent.on('response', (answer) => {
        text(answer).then(
          (body) => resolve(answer.statusCode === 200 ? 200 : `${answer.statusCode} ${body}`),
          () => resolve('broken answer'),
        );
      });
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      sent.end(at % 2 === 0 ? undefined : '{"text":"the cat","dryrun":true}');
    });
  }

  it('loses no call', async () => {
    const outcomes = new Map<number | string, number>();
    let calls = 0;
    const client = async () => {
      while (!isOver) {
        calls += 1;
        const outcome = await call(calls);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        // A gateway that starts has to get its turn beside them.
        await sleep(clientCount);
      }
    };
    const clients = Promise.all(Array.from({ length: clientCount }, client));
    for (const [at, each] of ports.entries()) {
      expect(await gateways[at]?.stop()).to.equal(0);
      gateways[at] = await start(each);
      await balancer?.ready(at);
    }
    isOver = true;
    await clients;
    expect(Object.fromEntries(outcomes)).to.deep.equal({ 200: calls });
  });
});

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
