import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { skipWithout } from '../needs.js';
import { type GatewayProcess, startGatewayProcess } from './harness.js';
import { closed, holdCall, holding } from './raw-client.js';

/** Debian puts it where only root's PATH leads. */
export const haproxy = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  .map((folder) => join(folder, 'haproxy'))
  .find(existsSync);

/** Ports that are free now, and that no system gives to who asks for any: those of Linux begin at 32768, of others higher. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(16_000, 32_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** HAProxy before gateways. */
export interface Balancer {
  process: ChildProcess;
  /** Resolves once HAProxy itself takes the gateway at this place for ready. */
  ready(at: number): Promise<void>;
}

/** Runs HAProxy before gateways on these ports, with its own defaults but for times, and waits until all are ready to it. */
export async function startHaproxy({
  folder,
  port,
  gateways,
}: {
  folder: string;
  port: number;
  /** Their ports here, or host and port. */
  gateways: (number | string)[];
}): Promise<Balancer> {
  const stats = join(folder, 'haproxy.sock');
  const servers = gateways.map(
    (each, at) => `  server gateway${at} ${typeof each === 'number' ? `127.0.0.1:${each}` : each} check`,
  );
  const config = [
    'global',
    `  stats socket ${stats}`,
    'defaults',
    '  mode http',
    '  timeout connect 5s',
    '  timeout client 60s',
    '  timeout server 60s',
    // Else it is the interval between checks: a busy machine takes longer to answer one.
    '  timeout check 5s',
    'frontend api',
    `  bind 127.0.0.1:${port}`,
    '  default_backend gateways',
    'backend gateways',
    '  balance roundrobin',
    '  option httpchk GET /readyz',
    // A call that could not even be handed over goes to another one.
    '  option redispatch 1',
    '  default-server inter 200ms fall 2 rise 1',
    ...servers,
    '',
  ];
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, config.join('\n'));
  const child = spawn(haproxy ?? 'haproxy', ['-db', '-q', '-f', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ready = async (at: number) => {
    const up = new RegExp(`^gateways,gateway${at},.*,UP,`, 'm');
    while (!up.test(await ask(stats, 'show stat'))) {
      const end = child.exitCode ?? child.signalCode;
      if (end !== null) throw new Error(`haproxy ended with ${end}`);
      await sleep(50);
    }
  };
  for (const at of gateways.keys()) await ready(at);
  return { process: child, ready };
}

/** What HAProxy answers on its socket; nothing before it listens there. */
async function ask(file: string, command: string): Promise<string> {
  try {
    const socket = connect(file);
    socket.end(`${command}\n`);
    return await text(socket);
  } catch {
    return '';
  }
}

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
