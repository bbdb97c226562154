// Before anything uses libuv's pool.
const { availableParallelism } = require('node:os');
const { setFlagsFromString } = require('node:v8');

const { HELPER_POOL_THREADS, HELPER_PROCESSES } = process.env;
const share = Math.ceil(availableParallelism() / (Number(HELPER_PROCESSES) || 1));
const threads = Number(HELPER_POOL_THREADS) || share;
// sharp encodes on this pool, one task a worker; the rest is for files and look-ups, which must not wait behind them.
process.env.UV_THREADPOOL_SIZE ??= String(Math.min(1024, threads + 4));
require('./lower-encoders.cjs');

// V8 counts pictures (files, decoded pixels) to a thread's heap, and by its own measure collects all of it after every 16 MB
// of them: up to a third of the CPU that a picture costs. Most of them die young: with room to grow they go first.
setFlagsFromString('--heap-growing-percent=300');
