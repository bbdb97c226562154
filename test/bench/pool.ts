/**
 * Prints what the pool costs beside the work, in ratios of one run: a task's way to a worker and back, a refusal, the choice of
 * the next tenant, and how long small work on the main thread waits for a core while all workers are busy.
 * `node dist/test/bench/pool.js`
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { Admission } from '../../pool/admission.js';
import { FairQueue } from '../../pool/fair-queue.js';
import { createPool } from '../../pool/pool.js';
import { callTask } from '../pool/worker-settings.js';
import { percentile } from '../soak/scenario.js';
import { type Contender, inTurns, ownCpuMs, printTable, ratio } from './measure.js';

const rounds = 15;

/** One of those that are compared: a call, made so many times one after the other. */
function calls(call: () => unknown): Contender {
  return {
    cpuMs: ownCpuMs,
    async work(pieces) {
      for (let done = 0; done < pieces; done += 1) await call();
    },
  };
}

/** CPU of one call of each, all threads together. The first is what the others are compared with. */
async function compare(what: string, fewest: number, variants: Record<string, () => unknown>): Promise<void> {
  const costs = await inTurns(Object.values(variants).map(calls), { fewest, turnMs: 100, rounds });
  add(
    what,
    Object.keys(variants).map((name, at) => [name, (costs[at]?.cpuMs ?? Number.NaN) * 1000]),
    'µs',
  );
}

const rows: string[][] = [];

function add(what: string, figures: (readonly [string, number])[], unit: string): void {
  const [[, base]] = figures as [[string, number]];
  for (const [name, value] of figures)
    rows.push([`${what}: ${name}`, `${value.toFixed(2)} ${unit}`, ratio(value, base)]);
}

async function benchPath(): Promise<void> {
  const bare = new Piscina({
    filename: new URL('./echo-worker.js', import.meta.url).href,
    minThreads: 1,
    maxThreads: 1,
    atomics: 'disabled',
    recordTiming: false,
  });
  const limits = { maxPixels: 1e6, maxFrames: 10 };
  const worker = { engine: 'auto', limits, fonts: [], taskTimeoutMs: 10_000, maxJsonBytes: 1e6 } as const;
  const pool = createPool({ threads: 1, queue: 64, worker });
  await pool.start();
  const task = callTask('echo', { value: 'hello' });
  await compare('a task that echoes', 2000, {
    'bare Piscina': () => bare.run(task),
    'the pool': async () => {
      const turn = pool.ticket({ tenant: 'a', weight: 1, most: null });
      await turn.run(task);
      turn.release();
    },
  });
  await Promise.all([bare.destroy(), pool.close()]);
}

function refusals(tenants: number): () => unknown {
  const admission = new Admission(tenants);
  for (let id = 0; id < tenants; id += 1) admission.hold({ tenant: `t${id}`, weight: 1, most: null });
  return () => admission.acquire({ tenant: 't0', weight: 1, most: null });
}

function shifts(tenants: number): () => unknown {
  const queue = new FairQueue<object>();
  for (let id = 0; id < tenants; id += 1) queue.push(`t${id}`, {});
  return () => {
    const next = queue.shift(() => 1);
    if (!next) throw new Error('nothing waits');
    queue.settle(next.tenant, 1, 2);
    queue.push(next.tenant, next.item);
  };
}

/** Milliseconds that small work on the main thread takes longer than it was to take, while all workers are busy. */
async function benchPriority(): Promise<void> {
  const groups = [false, true].map((yields) => {
    const gate = new Int32Array(new SharedArrayBuffer(8));
    const workerData = { gate, yields };
    const script = new URL('./busy-worker.js', import.meta.url);
    const workers = Array.from({ length: availableParallelism() }, () => new Worker(script, { workerData }));
    return { gate, workers, name: yields ? 'yielding workers' : 'equal workers', late: [] as number[] };
  });
  await sleep(500);
  for (let round = 0; round < 2 * rounds; round += 1) {
    for (const { gate, late } of groups) {
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
      for (let call = 0; call < 50; call += 1) {
        const began = performance.now();
        await sleep(3);
        JSON.stringify(Array.from({ length: 1000 }, (_, index) => index));
        late.push(performance.now() - began - 3);
      }
      Atomics.store(gate, 0, 0);
      await sleep(10);
    }
  }
  for (const part of [0.5, 0.95, 0.99]) {
    const rows = groups.map(({ name, late }) => [name, percentile(late, part)] as const);
    add(`main thread late, p${part * 100}`, rows, 'ms');
  }
  const done = groups.map(({ name, gate }) => [name, gate[1] ?? 0] as const);
  add('work of the workers meanwhile', done, 'rounds');
  for (const { workers } of groups) await Promise.all(workers.map((worker) => worker.terminate()));
}

await benchPath();
await compare('a refusal', 1000, { '1 place': refusals(1), '100,000 places': refusals(100_000) });
await compare('the next of so many tenants', 1000, { '10': shifts(10), '10,000': shifts(10_000) });
await benchPriority();
printTable(['', '', 'of the first'], rows);
