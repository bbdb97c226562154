// Lets libuv's threads, on which sharp encodes, yield to the main thread, as the worker threads do: see pool/README.md. They
// are those that appear with the pool's first use, and what they start inherits it; so this must run before any module that
// uses the pool. Only Linux counts a priority by thread.
const { readdirSync, stat } = require('node:fs');
const { getPriority, setPriority } = require('node:os');

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
