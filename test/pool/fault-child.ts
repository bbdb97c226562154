/**
 * Run by plugin.test.ts in a process of its own, because the test runner takes uncaught faults for its own: lets the
 * fault named by the first argument escape from guarded work, before its end or after it, and prints what became of it.
 */
import { EventEmitter } from 'node:events';
import { createReadStream } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { guard } from '../../pool/plugin.js';

const fault = (): never => {
  throw new Error('escaped');
};

const escapes: Record<string, () => unknown> = {
  rejection: () => void Promise.reject(new Error('escaped')),
  'async function': () => void (async () => fault())(),
  timer: () => setTimeout(fault, 1),
  'next tick': () => process.nextTick(fault),
  microtask: () => queueMicrotask(fault),
  event: () => {
    const emitter = new EventEmitter().on('said', fault);
    setImmediate(() => emitter.emit('said'));
  },
  socket: () => connect(1, '127.0.0.1'),
  stream: () => createReadStream('/nowhere'),
  worker: () => new Worker('throw new Error("escaped")', { eval: true }),
};

const when = process.argv[2];
if (when === 'own') {
  await guard({ name: 'fine' }, async () => 'fine');
  setTimeout(fault, 1);
} else {
  const results: Record<string, unknown> = {};
  for (const [name, letGo] of Object.entries(escapes)) results[name] = await outcomeOf(name, letGo);
  console.log(JSON.stringify(results));
  process.exit();
}

async function outcomeOf(name: string, letGo: () => unknown): Promise<string> {
  const late: unknown[] = [];
  const outcome = await guard({ name, onLate: (error) => late.push(error) }, async () => {
    if (when === 'late') setTimeout(letGo, 5);
    else {
      letGo();
      await sleep(100_000);
    }
    return 'ended';
  }).catch(() => 'failed');
  while (when === 'late' && late.length === 0) await sleep(5);
  return late.length > 0 ? `${outcome}, reported` : outcome;
}
