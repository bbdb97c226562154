import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { freePorts, skipWithout, until } from '../needs.js';
import { createPostgresDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { bin, type Child, startChild, startedIn } from './harness.js';
import { answers, REDIS_URL } from './limits/redis-servers.js';

/** Debian puts it where only root's PATH leads. */
const haproxy = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  .map((folder) => join(folder, 'haproxy'))
  .find(existsSync);

/** Runs HAProxy before gateways, each a host and port, with its own defaults but for times, and waits until all are ready to it. */
async function startHaproxy(folder: string, port: number, gateways: string[]) {
  const stats = join(folder, 'haproxy.sock');
  // Without a time limit for checks it is the interval between them: a busy machine takes longer to answer one.
  const config = `
global
  stats socket ${stats}
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 5s
frontend api
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk GET /readyz
  option redispatch 1
  default-server inter 200ms fall 2 rise 1
${gateways.map((each, at) => `  server gateway${at} ${each} check`).join('\n')}
`;
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, config);
  const child = spawn(haproxy ?? '', ['-db', '-q', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  /** Resolves once HAProxy itself counts the gateway at this place as ready. */
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
function ask(file: string, command: string): Promise<string> {
  return text(connect(file).end(`${command}\n`)).catch(() => '');
}

const gatewayHosts = [0, 1];
const workerHosts = [2, 3];
const clientCount = 6;
/** Of the job that goes on while hosts come and go. */
const itemCount = 300;

/** Occupies a thread for long enough that hosts come and go meanwhile. */
const pause = `export default {
  summary: 'Returns a number after a while.',
  input: { type: 'object', properties: { number: { type: 'integer', minimum: 0, maximum: 10000 } }, required: ['number'] },
  async handler({ number }) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    return { number };
  },
};`;

describe('two gateways and two workers, each at an address of its own', function () {
  this.timeout(600_000);
  let database: TestDatabase | undefined;
  let folder: string;
  let env: Record<string, string>;
  let balancer: Awaited<ReturnType<typeof startHaproxy>> | undefined;
  let base: string;
  let key: string;
  let isOver = false;
  let sent = 0;
  const outcomes = new Map<string, number>();
  const running = new Map<number, Child>();

  // All of 127.0.0.0/8 are addresses of a Linux, on which the same ports are free.
  const addressOf = (host: number) => `127.0.0.${host + 11}`;

  /**
   * Starts what runs on a host, and waits until it says that it does. A start ends where the database has no time for it, as on a busy
   * machine: it is begun again, as whatever manages processes does.
   */
  async function start(host: number): Promise<void> {
    const verb = gatewayHosts.includes(host) ? 'serve' : 'work';
    const own = { HOST: addressOf(host), CONNECT_HOST: addressOf(host) };
    await until(async () => {
      const child = startChild(process.execPath, [bin, verb, '--json'], { env: { ...env, ...own } });
      running.set(host, child);
      try {
        return await child.until(() => startedIn(child.stdout()));
      } catch (error) {
        if (/database cannot be used/.test(child.written())) return undefined;
        throw error;
      }
    });
  }

  function end(host: number, signal: NodeJS.Signals): Promise<number | null> {
    const child = running.get(host) as Child;
    child.process.kill(signal);
    return child.ended;
  }

  before(async function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux, which has many addresses of its own');
    if (!haproxy) skipWithout(this, 'haproxy');
    await requirePostgres.call(this);
    if (!(await answers(REDIS_URL))) skipWithout(this, 'Redis (TEST_REDIS_URL), which does not answer');
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-hosts-'));
    await mkdir(join(folder, 'plugins', 'test'), { recursive: true });
    await writeFile(join(folder, 'plugins', 'test', 'pause.mjs'), pause);
    database = await createPostgresDatabase();
    const [port = 0, apiPort, sitePort] = await freePorts(3);
    env = {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: database.location,
      REDIS_URL,
      // Where results lie: one folder for all, as hosts have it that mount the same.
      HELPER_DATA_DIR: join(folder, 'data'),
      HELPER_PLUGINS: join(folder, 'plugins'),
      HELPER_SIGNING_SECRET: 'of-all-hosts-and-long-enough-to-be-one',
      HELPER_POOL_THREADS: '1',
      HELPER_RATE: '0',
      HELPER_JOBS: 'off',
      HELPER_DRAIN_MS: '4000',
      PORT: String(apiPort),
      CONNECT_PORT: String(sitePort),
      LOG_LEVEL: 'warn',
    };
    for (const host of [...gatewayHosts, ...workerHosts]) await start(host);
    key = startedIn(running.get(0)?.stdout() ?? '')?.first_key?.key ?? '';
    const gateways = gatewayHosts.map((host) => `${addressOf(host)}:${apiPort}`);
    balancer = await startHaproxy(folder, port, gateways);
    base = `http://127.0.0.1:${port}`;
  });
  after(async () => {
    isOver = true;
    balancer?.process.kill('SIGKILL');
    await Promise.all([...running.keys()].map((host) => end(host, 'SIGKILL')));
    await database?.drop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** A GET or a POST, which no balancer may send twice. */
  async function callOnce(isPost: boolean): Promise<string> {
    try {
      const body = new URLSearchParams({ text: 'the cat' });
      const url = `${base}/text/remove-stopwords?ak=${key}`;
      const answer = await (isPost ? fetch(url, { method: 'POST', body }) : fetch(`${url}&${body}`));
      await answer.text();
      return String(answer.status);
    } catch {
      return 'broken';
    }
  }

  async function callOn(): Promise<void> {
    while (!isOver) {
      sent += 1;
      const outcome = await callOnce(sent % 2 === 0);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      // Hosts that start need the processor beside them.
      await sleep(10 * clientCount);
    }
  }

  async function askApi(path: string, body?: object) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = body ? { method: 'POST', body: JSON.stringify(body) } : {};
    return (await (await fetch(base + path, { ...init, headers })).json()).data;
  }

  const answered = () => outcomes.get('200') ?? 0;
  const seen = () => JSON.stringify(Object.fromEntries(outcomes));

  it('lose no call when each is restarted in turn, nor more than was inside when one is killed; a job is done once', async () => {
    const inputs = Array.from({ length: itemCount }, (_, number) => ({ number }));
    const job = `/jobs/${(await askApi('/jobs', { service: 'test/pause', inputs })).id}`;
    const clients = Promise.all(Array.from({ length: clientCount }, callOn));
    await until(() => answered() > 20);

    for (const host of [...workerHosts, ...gatewayHosts]) {
      expect(await end(host, 'SIGTERM'), running.get(host)?.written()).to.equal(0);
      await start(host);
      if (gatewayHosts.includes(host)) await balancer?.ready(gatewayHosts.indexOf(host));
    }
    expect([...outcomes.keys()], seen()).to.deep.equal(['200']);

    const [gateway = 0] = gatewayHosts;
    const [worker = 0] = workerHosts;
    await Promise.all([end(gateway, 'SIGKILL'), end(worker, 'SIGKILL')]);
    const before = answered();
    await until(() => answered() > before + 50);
    await Promise.all([start(gateway), start(worker)]);
    await balancer?.ready(0);
    const after = answered();
    await until(() => answered() > after + 50);
    isOver = true;
    await clients;
    // A call for each client may have been inside the one that was killed.
    expect(sent - answered(), seen()).to.be.at.most(clientCount);

    await until(async () => (await askApi(job)).state === 'done' || sleep(100));
    expect(await askApi(job)).to.include({ total: itemCount, done: itemCount, failed: 0, cancelled: 0 });
    expect(await askApi(`${job}/items/7`)).to.deep.equal({ number: 7 });
    // Usage of jobs stands in the transaction that ends an item.
    const access = (await database?.connect())?.access<{ usage_daily: { service: string; calls: number } }>();
    const rows = await access?.run((db) =>
      db.selectFrom('usage_daily').where('service', '=', 'test/pause').select('calls').execute(),
    );
    expect(rows?.reduce((sum, { calls }) => sum + Number(calls), 0)).to.equal(itemCount);
  });
});
