// Plain CommonJS, because libuv reads UV_THREADPOOL_SIZE once, and an ES module's loader has already used the pool.
/** Commands that run until a signal do so below a supervisor, which loads as little as possible. */
const given = process.argv.slice(2).filter((argument) => argument !== '--json');
const isServing = given.length === 0 || (given.length === 1 && ['serve', 'work'].includes(given[0]));
const isDev = given[0] === 'dev' && !given.includes('--help') && !given.includes('-h');
// Set in the processes that a supervisor has started.
const isSupervisor = (isServing || isDev) && process.env.GATEWAY_PROCESS === undefined;

if (!isSupervisor) require('./prepare-threads.cjs');

import(isSupervisor ? '../../dist/bundle/supervised.js' : '../../dist/bundle/cli.js').catch((error) => {
  const unbuilt = error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes('dist/bundle/');
  console.error(unbuilt ? 'helper-gateway is not built yet: run "npm run build" first.' : error);
  process.exitCode = 1;
});
