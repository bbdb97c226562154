// Plain CommonJS, because libuv reads UV_THREADPOOL_SIZE once, and an ES module's loader has already used the pool.
const { availableParallelism } = require('node:os');
const { setFlagsFromString } = require('node:v8');

const threads = Number(process.env.HELPER_POOL_THREADS) || availableParallelism();
// sharp encodes on this pool, one task a worker; the rest is for files and look-ups, which must not wait behind them.
process.env.UV_THREADPOOL_SIZE ??= String(Math.min(1024, threads + 4));
require('./lower-encoders.cjs');

// V8 counts pictures (files, decoded pixels) to a thread's heap, and by its own measure collects all of it after every 16 MB
// of them: up to a third of the CPU that a picture costs. Most of them die young: with room to grow they go first.
setFlagsFromString('--heap-growing-percent=300');

import('../../dist/gateway/cli.js').catch((error) => {
  const unbuilt = error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes('dist/gateway/cli.js');
  console.error(unbuilt ? 'helper-gateway is not built yet: run "npm run build" first.' : error);
  process.exitCode = 1;
});
