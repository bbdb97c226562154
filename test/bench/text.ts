/**
 * Prints what a small text call costs the gateway, with key, limits, usage, metrics and log on, beside a bare Koa and beside
 * the packages that the gateway has to have: CPU of each server's process a call, in turns within one run.
 * `node dist/test/bench/text.js`; Linux only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { hammer } from './keep-alive.js';

const goal = 0.4;
const roundMs = 700;
const rounds = 5;
/** First calls, in which V8 still compiles; not counted. */
const warmUpMs = 2500;
/** Linux tells a process' CPU time in these. */
const ticksASecond = 100;

const [a, b] = ['one\ntwo\nthree\n', 'one\n2\nthree\n'];
const text = 'The quick brown fox jumps over the lazy dog.';
const query = (input: Record<string, string>) => new URLSearchParams(input).toString();
const workloads = {
  'diff GET': (key: string) => get(`/text/diff-two-strings?${query({ a, b, ak: key })}`),
  'diff POST': (key: string) => post('/text/diff-two-strings', { a, b }, key),
  'stopwords GET': (key: string) => get(`/text/remove-stopwords?${query({ text, ak: key })}`),
  'stopwords POST': (key: string) => post('/text/remove-stopwords', { text }, key),
};

function get(target: string): Buffer {
  return Buffer.from(`GET ${target} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
}

function post(path: string, input: object, key: string): Buffer {
  const body = JSON.stringify(input);
  const fields = [
    'host: localhost',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${body}`);
}

interface Started {
  url: string;
  first_key?: { key: string };
}

interface Server {
  child: ChildProcess;
  url: string;
  key: string;
}

/** Starts a server and waits for its first line. What it writes then is read, as a log is. */
async function start(script: URL, args: string[], env: Record<string, string> = {}): Promise<Server> {
  const child = spawn(process.execPath, [fileURLToPath(script), ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  child.stdout.removeAllListeners('data').resume();
  const answer = JSON.parse(line) as Started & { data?: Started };
  const { url, first_key } = answer.data ?? answer;
  return { child, url, key: first_key?.key ?? 'k' };
}

/** Seconds of CPU that all threads of a process have had. */
function cpuOf({ child }: Server): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksASecond;
}

interface Cost {
  us: number[];
  rate: number[];
}

async function measure(
  server: Server,
  request: Buffer,
  load: { connections: number; ms: number },
  cost: Cost,
): Promise<void> {
  const before = cpuOf(server);
  const { calls, seconds } = await hammer(server.url, request, load);
  cost.us.push(((cpuOf(server) - before) / calls) * 1e6);
  cost.rate.push(calls / seconds);
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

function show({ us, rate }: Cost): string {
  return `${median(us).toFixed(0)} µs (${median(rate).toFixed(0)}/s)`;
}

const dataDir = await mkdtemp(join(tmpdir(), 'bench-'));
const servers = {
  bare: await start(new URL('./text-server.js', import.meta.url), ['bare']),
  packages: await start(new URL('./text-server.js', import.meta.url), ['packages']),
  gateway: await start(new URL('../../../gateway/bin.cjs', import.meta.url), ['serve', '--json'], {
    HELPER_DATA_DIR: dataDir,
    PORT: '0',
    CONNECT_PORT: '0',
    HELPER_DRAIN_MS: '0',
    // Limits are counted, and never met.
    HELPER_RATE: '1000000',
    HELPER_MONTHLY_QUOTA: '1000000000',
    HELPER_POOL_THREADS: '2',
  }),
};
const names = ['bare', 'packages', 'gateway'] as const;

console.log(`CPU of a server's process a call, and calls a second; medians of ${rounds} rounds`);
for (const connections of [32, 1]) {
  for (const [name, requestOf] of Object.entries(workloads)) {
    const costs = { bare: cost(), packages: cost(), gateway: cost() };
    for (let round = 0; round <= rounds; round += 1) {
      for (const each of names) {
        const server = servers[each];
        const load = { connections, ms: round === 0 ? warmUpMs : roundMs };
        await measure(server, requestOf(server.key), load, round === 0 ? cost() : costs[each]);
      }
    }
    const bare = median(costs.bare.us);
    const [packages, gateway] = [bare / median(costs.packages.us), bare / median(costs.gateway.us)];
    console.log(
      `${name}, ${connections} at a time: bare Koa ${show(costs.bare)} | required packages ${show(costs.packages)} ` +
        `× ${packages.toFixed(2)} | gateway ${show(costs.gateway)} × ${gateway.toFixed(2)} (goal ${goal.toFixed(2)})`,
    );
  }
}

function cost(): Cost {
  return { us: [], rate: [] };
}

for (const { child } of Object.values(servers)) child.kill();
await rm(dataDir, { recursive: true });
