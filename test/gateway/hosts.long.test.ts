import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { skipWithout, until } from '../needs.js';
import { createPostgresDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { type Balancer, freePorts, haproxy, startHaproxy } from './haproxy.js';
import { bin, type Child, startChild, startedIn } from './harness.js';
import { answers, REDIS_URL } from './limits/redis-servers.js';

/** Hosts of a network of their own on this machine, each a network namespace: root alone can make them. */
interface NetworkHosts {
  /** The words before a command that is to run on a host, and its address. */
  on(host: number): { before: string[]; address: string };
  /** Makes a server of this machine's loopback reachable for them; gives its address there. */
  forward(port: number, host?: string): Promise<{ host: string; port: number }>;
  close(): Promise<void>;
}

/** Why there can be none; undefined where they can be made. */
function networkHostsFault(): string | undefined {
  try {
    ip('netns', 'add', 'hg-probe');
    ip('netns', 'del', 'hg-probe');
    return undefined;
  } catch (error) {
    return (error as Error).message.split('\n', 1)[0];
  }
}

function openNetworkHosts(count: number): NetworkHosts {
  const net = randomInt(1, 255);
  const name = `hg${process.pid % 10_000}${net}`;
  const bridge = `${name}br`;
  const here = `10.213.${net}.1`;
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  ip('link', 'add', bridge, 'type', 'bridge');
  ip('addr', 'add', `${here}/24`, 'dev', bridge);
  ip('link', 'set', bridge, 'up');
  for (let host = 0; host < count; host += 1) {
    const [space, outer, inner] = [`${name}n${host}`, `${name}o${host}`, `${name}i${host}`];
    ip('netns', 'add', space);
    ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner);
    ip('link', 'set', inner, 'netns', space);
    ip('link', 'set', outer, 'master', bridge, 'up');
    ip('-n', space, 'addr', 'add', `${addressOf(host)}/24`, 'dev', inner);
    ip('-n', space, 'link', 'set', inner, 'up');
    ip('-n', space, 'link', 'set', 'lo', 'up');
  }

  function addressOf(host: number): string {
    return `10.213.${net}.${host + 11}`;
  }

  return {
    on: (host) => ({ before: ['ip', 'netns', 'exec', `${name}n${host}`], address: addressOf(host) }),
    async forward(port, host = '127.0.0.1') {
      const server = createServer((socket) => {
        const onward = connect(port, host);
        for (const [from, to] of [
          [socket, onward],
          [onward, socket],
        ] as const) {
          sockets.add(from);
          from.pipe(to);
          from.on('error', () => to.destroy());
          // What came last, such as why it was ended, is still to be handed on.
          from.on('close', () => {
            sockets.delete(from);
            to.end();
          });
        }
      });
      servers.push(server);
      server.listen(0, here);
      await once(server, 'listening');
      return { host: here, port: (server.address() as { port: number }).port };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
      for (let host = 0; host < count; host += 1) ip('netns', 'del', `${name}n${host}`);
      ip('link', 'del', bridge);
    },
  };
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

const [gatewayHosts, workerHosts] = [
  [0, 1],
  [2, 3],
];
const apiPort = 8080;
const clientCount = 6;
/** Of the job that goes on while hosts come and go. */
const itemCount = 400;

/** Takes a thread for long enough that hosts come and go meanwhile. */
const pause = `export default {
  summary: 'Says a number after a while.',
  input: { type: 'object', properties: { number: { type: 'integer', minimum: 0, maximum: 10000 } }, required: ['number'] },
  async handler({ number }) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    return { number };
  },
};`;

describe('two gateways and two workers, each on a host of its own', function () {
  this.timeout(600_000);
  let hosts: NetworkHosts | undefined;
  let database: TestDatabase | undefined;
  let folder: string;
  let env: Record<string, string>;
  let balancer: Balancer | undefined;
  let base: string;
  let key: string;
  let isOver = false;
  let sent = 0;
  const outcomes = new Map<string, number>();
  const running = new Map<number, Child>();

  /**
   * Starts what runs on a host, and waits until it says that it does. A start ends where the database has no time for it, as on a busy
   * machine: it is begun again, as whatever manages processes does.
   */
  async function start(host: number): Promise<void> {
    await until(async () => {
      const child = startOn(host);
      running.set(host, child);
      try {
        return await child.until(() => startedIn(child.stdout()));
      } catch (error) {
        if (/database cannot be used/.test(child.written())) return undefined;
        throw error;
      }
    });
  }

  function startOn(host: number): Child {
    const { before, address } = place(host);
    const [command = '', ...words] = before;
    const verb = gatewayHosts.includes(host) ? 'serve' : 'work';
    return startChild(command, [...words, process.execPath, bin, verb, '--json'], {
      env: { ...env, HOST: address, CONNECT_HOST: address },
    });
  }

  async function end(host: number, signal: NodeJS.Signals): Promise<number | null> {
    const child = running.get(host) as Child;
    child.process.kill(signal);
    return child.ended;
  }

  function place(host: number) {
    if (!hosts) throw new Error('there are no hosts');
    return hosts.on(host);
  }

  before(async function () {
    if (!haproxy) skipWithout(this, 'haproxy');
    await requirePostgres.call(this);
    if (!(await answers(REDIS_URL))) skipWithout(this, 'Redis (TEST_REDIS_URL), which does not answer');
    const fault = networkHostsFault();
    if (fault !== undefined) skipWithout(this, `network namespaces (ip netns, as root): ${fault}`);
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-hosts-'));
    await mkdir(join(folder, 'plugins', 'test'), { recursive: true });
    await writeFile(join(folder, 'plugins', 'test', 'pause.mjs'), pause);
    database = await createPostgresDatabase();
    hosts = openNetworkHosts(4);
    const postgres = new URL(database.location);
    const redis = new URL(REDIS_URL);
    for (const [url, usual] of [
      [postgres, 5432],
      [redis, 6379],
    ] as const) {
      const reached = await hosts.forward(Number(url.port) || usual, url.hostname);
      [url.hostname, url.port] = [reached.host, String(reached.port)];
    }
    env = {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: postgres.href,
      REDIS_URL: redis.href,
      // Where results lie: one folder for all, as hosts have it that mount the same.
      HELPER_DATA_DIR: join(folder, 'data'),
      HELPER_PLUGINS: join(folder, 'plugins'),
      HELPER_SIGNING_SECRET: 'of-all-hosts-and-long-enough-to-be-one',
      HELPER_POOL_THREADS: '1',
      HELPER_RATE: '0',
      HELPER_JOBS: 'off',
      HELPER_DRAIN_MS: '4000',
      PORT: String(apiPort),
      CONNECT_PORT: '8081',
      LOG_LEVEL: 'warn',
    };
    for (const host of [...gatewayHosts, ...workerHosts]) await start(host);
    key = startedIn(running.get(0)?.stdout() ?? '')?.first_key?.key ?? '';
    const [port = 0] = await freePorts(1);
    const gateways = gatewayHosts.map((host) => `${place(host).address}:${apiPort}`);
    balancer = await startHaproxy({ folder, port, gateways });
    base = `http://127.0.0.1:${port}`;
  });
  after(async () => {
    isOver = true;
    balancer?.process.kill('SIGKILL');
    await Promise.all([...running.keys()].map((host) => end(host, 'SIGKILL')));
    await hosts?.close();
    await database?.drop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  async function callOnce(): Promise<string> {
    try {
      const answer = await fetch(`${base}/text/remove-stopwords?ak=${key}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"text":"the cat"}',
      });
      await answer.text();
      return String(answer.status);
    } catch {
      return 'broken';
    }
  }

  async function callOn(): Promise<void> {
    while (!isOver) {
      sent += 1;
      const outcome = await callOnce();
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      // Hosts that start have to get their turn beside them.
      await sleep(2 * clientCount);
    }
  }

  async function ask(path: string, request: RequestInit = {}) {
    const answer = await fetch(`${base}${path}`, {
      ...request,
      headers: { authorization: `Bearer ${key}`, ...request.headers },
    });
    const { data } = (await answer.json()) as { data: Record<string, unknown> };
    return { status: answer.status, data };
  }

  const lost = () => sent - (outcomes.get('200') ?? 0) - clientCount;

  it('lose no call when each is restarted in turn, nor more than was inside when one is killed; a job is done once', async () => {
    const inputs = Array.from({ length: itemCount }, (_, number) => ({ number }));
    const made = await ask('/jobs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ service: 'test/pause', inputs }),
    });
    expect(made.status).to.equal(202);
    const clients = Promise.all(Array.from({ length: clientCount }, callOn));
    await until(() => (outcomes.get('200') ?? 0) > 20);

    for (const host of [...workerHosts, ...gatewayHosts]) {
      expect(await end(host, 'SIGTERM'), running.get(host)?.written()).to.equal(0);
      await start(host);
      if (gatewayHosts.includes(host)) await balancer?.ready(gatewayHosts.indexOf(host));
    }
    expect(lost(), JSON.stringify(Object.fromEntries(outcomes))).to.be.at.most(0);

    const [gateway = 0] = gatewayHosts;
    const [worker = 0] = workerHosts;
    await Promise.all([end(gateway, 'SIGKILL'), end(worker, 'SIGKILL')]);
    const before = outcomes.get('200') ?? 0;
    await until(() => (outcomes.get('200') ?? 0) > before + 50);
    await Promise.all([start(gateway), start(worker)]);
    await balancer?.ready(0);
    const after = outcomes.get('200') ?? 0;
    await until(() => (outcomes.get('200') ?? 0) > after + 50);
    isOver = true;
    await clients;
    // A call for each client may have been inside the one that was killed.
    expect(sent - (outcomes.get('200') ?? 0), JSON.stringify(Object.fromEntries(outcomes))).to.be.at.most(
      clientCount,
    );

    const path = `/jobs/${made.data.id}`;
    await until(async () => {
      await sleep(100);
      return (await ask(path)).data.state === 'done';
    });
    expect((await ask(path)).data).to.include({ total: itemCount, done: itemCount, failed: 0, cancelled: 0 });
    const item = await ask(`${path}/items/7`);
    expect(item.data).to.deep.equal({ number: 7 });
    // Usage of jobs stands in the transaction that ends an item.
    const rows = await database?.connect().then((opened) =>
      opened.access<{ usage_daily: { service: string; calls: number } }>().run((db) =>
        db
          .selectFrom('usage_daily')
          .where('service', '=', 'test/pause')
          .select(({ fn }) => fn.sum<number>('calls').as('calls'))
          .executeTakeFirstOrThrow(),
      ),
    );
    expect(Number(rows?.calls)).to.equal(itemCount);
  });
});
