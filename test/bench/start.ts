/**
 * Prints what a start costs beside a bare `node -e 0`: processor time of all its processes until `/readyz` is 200, the time until
 * `/healthz` answers, memory then and once it has come to rest, the same with 20 and 100 more helpers, and the first call of each helper.
 * In turns within one run. `node dist/test/bench/start.js`; Linux only.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bin, startChild, startedIn } from '../gateway/harness.js';
import { freePorts } from '../needs.js';
import { type Call, createClient } from '../soak/client.js';
import { atMost, cpuMsOf, median, printGoals, printTable, ratio } from './measure.js';
import { drawPhoto } from './pictures.js';
import { upload } from './servers.js';

const rounds = 5;
/** A rest takes long, and what is read after it differs little. */
const roundsWithRest = 2;
/** So many cost a good many of the hundredths of a second in which the kernel counts. */
const bareNodes = 10;
/** In this time what is loaded after a start has been loaded, and V8 has freed what that left. */
const restMs = 20_000;
const mb = 1024;

/** What one start cost. */
interface Start {
  cpuMs: number;
  healthzMs: number;
  readyMs: number;
  memoryMb: number;
  /** Not a number where it was not read. */
  restMb: number;
}

const folder = await mkdtemp(join(tmpdir(), 'bench-start-'));
const picture = await drawPhoto(768, 549);
const firstCalls: Record<string, (key: string) => Call> = {
  'text/diff-two-strings': (key) => text('/text/diff-two-strings', key, { a: 'one\ntwo', b: 'one\n2' }),
  'text/remove-stopwords': (key) => text('/text/remove-stopwords', key, { text: 'The quick brown fox' }),
  'media/add-border': (key) => media('/media/add-border', key, { color: 'dusty rose', format: 'jpg' }),
  'media/add-watermark': (key) => media('/media/add-watermark', key, { text: '© Me', format: 'jpg' }),
  'media/resize': (key) => media('/media/resize', key, { width: '320', format: 'webp' }),
  'media/info': (key) => media('/media/info', key, {}),
  'media/convert': (key) => media('/media/convert', key, { format: 'png' }),
};

function text(path: string, key: string, input: object): Call {
  return { path: `${path}?ak=${key}`, body: JSON.stringify(input) };
}

function media(path: string, key: string, fields: Record<string, string>): Call {
  return upload(`${path}?ak=${key}`, picture, fields);
}

function bareNodeMs(): number {
  const began = childrenMs();
  for (let done = 0; done < bareNodes; done += 1) spawnSync(process.execPath, ['-e', '0']);
  return (childrenMs() - began) / bareNodes;
}

/** Milliseconds of processor time of the children of this process that have ended. */
function childrenMs(): number {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** A process and all that it has started. */
function treeOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ');
  return [pid, ...children.filter(Boolean).flatMap((child) => treeOf(Number(child)))];
}

/** Megabytes of memory of these processes; what they share counts once. */
function memoryMbOf(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1]),
  );
  return kilobytes.reduce((sum, its) => sum + its, 0) / mb;
}

async function helpersFolder(count: number): Promise<string> {
  const plugins = join(folder, `helpers-${count}`);
  await mkdir(plugins);
  for (let at = 0; at < count; at += 1) {
    const source = `export default { summary: 'Says ${at}', input: { type: 'object', properties: { word: { type: 'string', maxLength: 20 } } }, handler: ({ word }) => ({ word, at: ${at} }) };\n`;
    await writeFile(join(plugins, `say-${at}.mjs`), source);
  }
  return plugins;
}

interface StartOptions {
  first?: (key: string) => Call;
  /** Whether memory is read once more at rest. */
  rests?: boolean;
}

/** Starts a gateway in an empty folder, makes a first call once it is ready if there is one, and ends it. */
async function start(plugins = '', { first, rests = false }: StartOptions = {}) {
  const dataDir = await mkdtemp(join(folder, 'data-'));
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const own = { HELPER_DATA_DIR: dataDir, ...(plugins && { HELPER_PLUGINS: plugins }) };
  const env = { PATH: process.env.PATH, PORT: `${port}`, CONNECT_PORT: '0', HELPER_DRAIN_MS: '0', ...own };
  const client = createClient(url, 1);
  const began = performance.now();
  const child = startChild(process.execPath, [bin, 'serve', '--json'], { env });
  const pid = child.process.pid ?? 0;
  const answers = async (path: string) => {
    while ((await client.call({ path })).status !== 200) await sleep(5);
    return performance.now() - began;
  };
  const cpu = () => treeOf(pid).reduce((sum, its) => sum + cpuMsOf(its), 0);
  const healthzMs = await answers('/healthz');
  const readyMs = await answers('/readyz');
  const cpuMs = cpu();
  const memoryMb = memoryMbOf(treeOf(pid));
  const started = await child.until(() => startedIn(child.stdout()));
  let call = { cpuMs: 0, ms: 0 };
  if (first) {
    const before = cpu();
    const { status, ms } = await client.call(first(started.first_key?.key ?? ''));
    if (status !== 200) throw new Error(`a first call was answered ${status}`);
    call = { cpuMs: cpu() - before, ms };
  }
  if (rests) await sleep(restMs);
  const restMb = rests ? memoryMbOf(treeOf(pid)) : Number.NaN;
  const cost: Start = { cpuMs, healthzMs, readyMs, memoryMb, restMb };
  client.close();
  child.process.kill();
  await child.ended;
  return { cost, call };
}

function medians(costs: readonly Start[]): Start {
  const of = (name: keyof Start) =>
    median(costs.map((cost) => cost[name]).filter((cost) => !Number.isNaN(cost)));
  return {
    cpuMs: of('cpuMs'),
    healthzMs: of('healthzMs'),
    readyMs: of('readyMs'),
    memoryMb: of('memoryMb'),
    restMb: of('restMb'),
  };
}

const counts = [0, 1, 20, 100];
const folders = new Map<number, string>();
for (const count of counts.slice(1)) folders.set(count, await helpersFolder(count));
const bare: number[] = [];
const seen = new Map<number, Start[]>(counts.map((count) => [count, []]));
const called = new Map<string, { cpuMs: number; ms: number }[]>(
  Object.keys(firstCalls).map((name) => [name, []]),
);
for (let round = 0; round < rounds; round += 1) {
  bare.push(bareNodeMs());
  for (const count of counts) {
    const rests = count < 2 && round < roundsWithRest;
    seen.get(count)?.push((await start(folders.get(count), { rests })).cost);
  }
  for (const [name, first] of Object.entries(firstCalls)) {
    called.get(name)?.push((await start('', { first })).call);
  }
}

const node = median(bare);
const costs = new Map(counts.map((count) => [count, medians(seen.get(count) ?? [])]));
console.log(`  a bare node: ${node.toFixed(0)} ms of processor time`);
printTable(
  ['a start', 'CPU, ms', 'beside a bare node', '/healthz, ms', '/readyz, ms', 'memory, MB', 'at rest, MB'],
  [...costs].map(([count, { cpuMs, healthzMs, readyMs, memoryMb, restMb }]) => [
    count === 0 ? 'as it comes' : `with ${count} more helper${count === 1 ? '' : 's'}`,
    cpuMs.toFixed(0),
    ratio(cpuMs, node),
    healthzMs.toFixed(0),
    readyMs.toFixed(0),
    memoryMb.toFixed(0),
    Number.isNaN(restMb) ? '' : restMb.toFixed(0),
  ]),
);
printTable(
  ['first call after a start', 'CPU, ms', 'beside a bare node', 'ms'],
  [...called].map(([name, calls]) => {
    const cpuMs = median(calls.map((call) => call.cpuMs));
    return [name, cpuMs.toFixed(0), ratio(cpuMs, node), median(calls.map(({ ms }) => ms)).toFixed(0)];
  }),
);
const usual = costs.get(0) as Start;
const figure = (count: number) => costs.get(count)?.cpuMs ?? Number.NaN;
printGoals([
  atMost(18, 'CPU of a start beside a bare node', usual.cpuMs / node, '×'),
  atMost(350, '/healthz of a start', usual.healthzMs, 'ms'),
  atMost(230, 'memory when ready', usual.memoryMb, 'MB'),
  atMost(230, 'memory at rest', usual.restMb, 'MB'),
  atMost(1.5, 'CPU of a start with 100 helpers beside one', figure(100) / figure(1), '×'),
]);
await rm(folder, { recursive: true });
