// To be required before anything uses libuv's pool.
const { readdirSync, stat } = require('node:fs');
const { availableParallelism, getPriority, setPriority } = require('node:os');
const { setFlagsFromString } = require('node:v8');

const { HELPER_POOL_THREADS, HELPER_PROCESSES } = process.env;
const share = Math.ceil(availableParallelism() / (Number(HELPER_PROCESSES) || 1));
const threads = Number(HELPER_POOL_THREADS) || share;
// sharp encodes on this pool, one task a worker; the rest is for files and look-ups, which must not wait behind them.
process.env.UV_THREADPOOL_SIZE ??= String(Math.min(1024, threads + 4));

// V8 counts pictures (files, decoded pixels) to a thread's heap, and by default collects all of it after every 16 MB of them: up to a
// third of the CPU that a picture costs. Most of them die young, and are collected first where the heap may grow.
setFlagsFromString('--heap-growing-percent=300');

// Lets libuv's threads yield to the main thread, as the worker threads do: see pool/README.md. They appear with the pool's first use,
// and threads that they start inherit their priority. Only Linux has a priority for each thread.
const nicer = 5;
const nicest = 19;
if (process.platform === 'linux') {
  try {
    const before = new Set(readdirSync('/proc/self/task'));
    stat('/', () => undefined);
    const started = readdirSync('/proc/self/task').filter((thread) => !before.has(thread));
    for (const thread of started) setPriority(Number(thread), Math.min(nicest, getPriority(0) + nicer));
  } catch {
    // A sandbox may forbid it, or show no threads: the work is the same.
  }
}
