/**
 * Prints how many pictures a second the gateway borders, beside a server that one would write oneself, over HTTP and in
 * turns within one run; and how long a quiet tenant waits while a noisy one floods the pool.
 * `node dist/test/bench/gateway.js [FILE]`
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runCommand, startGatewayProcess } from '../gateway/gateway-process.js';
import { drawPhoto } from './photo.js';

const roundMs = 4000;
const rounds = 3;
const clients = 4;

const file = process.argv[2];
const picture = new Uint8Array(file ? await readFile(file) : await drawPhoto(2500, 1786));

async function startNaive(): Promise<{ url: string; child: ChildProcess }> {
  const script = fileURLToPath(new URL('./naive-server.js', import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { url, child };
}

async function post(url: string, format: string): Promise<{ status: number; ms: number }> {
  const form = new FormData();
  form.set('file', new Blob([picture as Uint8Array<ArrayBuffer>]), 'picture');
  form.set('format', format);
  const start = performance.now();
  const response = await fetch(url, { method: 'POST', body: form });
  await response.arrayBuffer();
  return { status: response.status, ms: performance.now() - start };
}

/** Pictures a second that `CLIENTS` clients get out of a server. */
async function throughput(url: string, format: string): Promise<number> {
  const start = performance.now();
  let done = 0;
  const client = async () => {
    while (performance.now() - start < roundMs) {
      const { status } = await post(url, format);
      if (status !== 200) throw new Error(`${url} answered ${status}`);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return done / ((performance.now() - start) / 1000);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

const dataDir = await mkdtemp(join(tmpdir(), 'bench-'));
const env = {
  HELPER_DATA_DIR: dataDir,
  HELPER_RATE: '0',
  HELPER_POOL_THREADS: process.env.HELPER_POOL_THREADS ?? '2',
};
const gateway = await startGatewayProcess(env);
const naive = await startNaive();
const noisy = gateway.first_key?.key;
const border = `${gateway.url}/media/add-border?ak=${noisy}`;

console.log(
  `${file ?? 'drawn picture'}: pictures a second over HTTP, ${clients} clients, median of ${rounds} rounds`,
);
for (const format of ['jpg', 'webp', 'png']) {
  const own: number[] = [];
  const plain: number[] = [];
  await post(border, format);
  await post(naive.url, format);
  for (let round = 0; round < rounds; round += 1) {
    plain.push(await throughput(naive.url, format));
    own.push(await throughput(border, format));
  }
  const [a, b] = [median(own), median(plain)];
  console.log(
    `border ${format}: own server ${b.toFixed(1)} | gateway ${a.toFixed(1)} | × ${(a / b).toFixed(2)}`,
  );
}

await runCommand(['tenants', 'create', 'quiet'], env);
const quiet = (await runCommand(['keys', 'issue', 'quiet'], env)).stdout.trim();
const quietCall = async () => (await post(`${gateway.url}/media/add-border?ak=${quiet}`, 'webp')).ms;
const alone: number[] = [];
for (let i = 0; i < 7; i += 1) alone.push(await quietCall());
let flooding = true;
const flood = Array.from({ length: 60 }, async () => {
  while (flooding) await post(border, 'webp');
});
await new Promise((resolve) => setTimeout(resolve, 1500));
const crowded: number[] = [];
for (let i = 0; i < 7; i += 1) crowded.push(await quietCall());
const noisyCall = post(border, 'webp');
const noisyMs = (await noisyCall).ms;
flooding = false;
await Promise.all(flood);
console.log(
  `one call of a quiet tenant: alone ${median(alone).toFixed(0)} ms, beside 60 noisy ones ${median(crowded).toFixed(0)} ms ` +
    `(× ${(median(crowded) / median(alone)).toFixed(1)}); a noisy one waits ${noisyMs.toFixed(0)} ms`,
);

naive.child.kill();
await gateway.stop();
await rm(dataDir, { recursive: true });
