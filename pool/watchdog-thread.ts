/** The entry of the watchdog's thread. It loads next to nothing: each process that serves has one. */
import { writeSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { WatchdogOrder } from './task-limits.js';

/** Between two looks at who is the parent of this process, or which step is under way. */
const lookMs = 1_000;
/** A main thread that hears that its supervisor has gone ends the process within this time. */
const lastMs = 2_000;

const timers = new Map<number, NodeJS.Timeout>();

parentPort?.on('message', (order: WatchdogOrder) => {
  if (order.kind === 'orphan') watchParent(order.supervisor);
  else if (order.kind === 'begin') begin(order);
  else {
    clearTimeout(timers.get(order.id));
    timers.delete(order.id);
  }
});

function begin({ id, steps, at, limitMs, ends }: Extract<WatchdogOrder, { kind: 'begin' }>): void {
  const step = () => Atomics.load(at, 0);
  let seen = step();
  let since = performance.now();
  const look = () => {
    if (seen !== step()) {
      seen = step();
      since = performance.now();
    }
    const leftMs = limitMs - (performance.now() - since);
    if (leftMs > 0) timers.set(id, setTimeout(look, Math.min(leftMs, lookMs)));
    else report(steps[seen] ?? 'at work');
  };
  const report = (doing: string) => {
    const seconds = Math.round(limitMs / 1000);
    const end = ends ? ' The process is ended.' : '';
    say(`it is still ${doing} after ${seconds} s; is there a loop that never ends?${end}`);
    if (ends) kill();
  };
  look();
}

function watchParent(supervisor: number): void {
  const timer = setInterval(() => {
    if (process.ppid === supervisor) return;
    clearInterval(timer);
    setTimeout(() => {
      say('the supervisor has gone, and the main thread does not respond: the process is ended');
      kill();
    }, lastMs);
  }, lookMs);
}

/** By the file: the stream of a worker goes through the main thread. */
function say(what: string): void {
  try {
    writeSync(2, `helper-gateway: ${what}\n`);
  } catch {
    // Who would read it has gone.
  }
}

/** Any other signal would wait for the main thread. */
function kill(): void {
  process.kill(process.pid, 'SIGKILL');
}
