/**
 * Prints the own source files through which one call runs: a border by url, whose picture no call has had before, and a small text.
 * V8 notes the functions that run in each thread during one call after many; what else runs now and then, by a timer, is told apart by
 * counting only what ran for each of several such calls. `node dist/test/bench/path.js`; Linux only.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { SourceMap } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { atMost, printGoals } from './measure.js';
import { startGateway } from './servers.js';

/** As V8 tells it: a script, and the functions of it that ran. */
type Coverage = { url: string; functions: { ranges: { endOffset: number; count: number }[] }[] }[];

/** What finds the source file of an offset, by the script. */
const maps = new Map<string, (offset: number) => string | undefined>();
const root = fileURLToPath(new URL('../../../', import.meta.url));
const warmUps = 50;
const windows = 7;
/** How long the first signal may take to reach every thread, and spare ones to start before it. */
const settleMs = 2_000;
let signals = 0;
/** The ends of the names of the files that each signal makes: one for each thread. */
let threads: string[] | undefined;

const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const;
const drawn = sharp({ create: { width: 96, height: 64, channels: 3, background: '#888', noise } });
const picture = await drawn.jpeg().toBuffer();
let pictures = 0;
const source = createServer((_, response) => {
  pictures += 1;
  const bytes = Buffer.concat([picture, Buffer.from(` ${pictures}`)]);
  response.writeHead(200, { 'content-type': 'image/jpeg', 'content-length': bytes.length }).end(bytes);
});
source.keepAliveTimeout = 60_000;
await once(source.listen(0, '127.0.0.1'), 'listening');
const origin = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;

const folder = await mkdtemp(join(tmpdir(), 'path-'));
const probe = new URL('./path-probe.js', import.meta.url).href;
const gateway = await startGateway({
  HELPER_POOL_THREADS: '1',
  HELPER_RATE: '1000000',
  HELPER_MONTHLY_QUOTA: '1000000000',
  HELPER_SOURCE_ORIGINS: origin,
  LOG_LEVEL: 'info',
  NODE_OPTIONS: `--import=${probe}`,
  PATH_PROBE: folder,
});

const key = { authorization: `Bearer ${gateway.key}` };
const body = JSON.stringify({ text: 'The quick brown fox jumps over the lazy dog.' });
const headers = { ...key, 'content-type': 'application/json' };
const calls = {
  border: () =>
    fetch(`${gateway.url}/media/add-border?width=4&url=${encodeURIComponent(`${origin}/${pictures}.jpg`)}`, {
      headers: key,
    }),
  text: () => fetch(`${gateway.url}/text/remove-stopwords`, { method: 'POST', headers, body }),
};

const taken = { border: await filesOf(calls.border), text: await filesOf(calls.text) };
for (const [name, files] of Object.entries(taken)) {
  console.log(`  ${name}: ${files.length} files\n${files.map((file) => `    ${file}`).join('\n')}`);
}
printGoals([
  atMost(70, 'own files that one call runs through: border', taken.border.length, ''),
  atMost(45, 'own files that one call runs through: text', taken.text.length, ''),
]);
await gateway.close();
source.close();
source.closeAllConnections();
await rm(folder, { recursive: true });

/** The files that run for each of several calls. */
async function filesOf(call: () => Promise<Response>): Promise<string[]> {
  for (let times = 0; times < warmUps; times += 1) await answered(call);
  let common: Set<string> | undefined;
  for (let window = 0; window < windows; window += 1) {
    await signal();
    await answered(call);
    const ran = await ranIn(await signal());
    common = common ? new Set([...common].filter((file) => ran.has(file))) : ran;
  }
  return [...(common ?? [])].sort();
}

/** Gives the files that the threads wrote. */
async function signal(): Promise<string[]> {
  if (!threads) await sleep(settleMs);
  signals += 1;
  process.kill(gateway.pid, 'SIGUSR2');
  if (!threads) {
    await sleep(settleMs);
    threads = (await readdir(folder)).map((name) => name.slice(name.indexOf('-')));
  }
  const files = threads.map((name) => `${signals}${name}`);
  while (!files.every((name) => existsSync(join(folder, name)))) await sleep(1);
  return files;
}

async function answered(call: () => Promise<Response>): Promise<void> {
  const response = await call();
  if (response.status !== 200) throw new Error(`answered ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}

/** Of all threads. */
async function ranIn(files: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const name of files) {
    const scripts = JSON.parse(await readFile(join(folder, name), 'utf8')) as Coverage;
    for (const { url, functions } of scripts) {
      const sourceAt = await mapOf(fileURLToPath(url));
      for (const { ranges } of functions) {
        const [range] = ranges;
        // Its end: the mark before it lies inside the function, where the one before its beginning may be another file's.
        const file = range && range.count > 0 ? sourceAt(range.endOffset - 1) : undefined;
        if (file && !file.includes('node_modules')) found.add(file);
      }
    }
  }
  return found;
}

/** What finds the source file of an offset in a script of the bundle; of a package's script there is no map. */
async function mapOf(script: string): Promise<(offset: number) => string | undefined> {
  const known = maps.get(script);
  if (known) return known;
  const [code, payload] = await Promise.all([
    readFile(script, 'utf8'),
    readFile(`${script}.map`, 'utf8').catch(() => undefined),
  ]);
  const lines = code.split('\n');
  const map = payload === undefined ? undefined : new SourceMap(JSON.parse(payload));
  const sourceAt = (offset: number) => {
    let left = offset;
    let line = 0;
    while (left > (lines[line]?.length ?? 0)) {
      left -= (lines[line]?.length ?? 0) + 1;
      line += 1;
    }
    const entry = map?.findEntry(line, left);
    // Not every mark leads to a source.
    if (!entry || !('originalSource' in entry) || !entry.originalSource) return undefined;
    return relative(root, join(dirname(script), entry.originalSource));
  };
  maps.set(script, sourceAt);
  return sourceAt;
}
