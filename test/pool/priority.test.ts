import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createPool } from '../../pool/pool.js';
import { yieldToOthers } from '../../pool/priority.js';
import { skipWithout } from '../needs.js';
import { workerSettings } from './worker-settings.js';

/** Undefined where the thread has ended. */
function niceOf(thread: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    // proc_pid_stat(5): the 19th field; the second is a name in brackets, which may hold spaces.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  } catch {
    return undefined;
  }
}

/** The nice value of each of this process's threads, by thread; others than ours end when they like. */
function niceValues(): Map<number, number> {
  return new Map(
    readdirSync('/proc/self/task').flatMap((thread) => {
      const nice = niceOf(thread);
      return nice === undefined ? [] : [[Number(thread), nice] as const];
    }),
  );
}

describe('worker threads', () => {
  it('yield to the main thread, on Linux', async function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux');
    const before = niceValues();
    const main = before.get(process.pid) as number;
    const pool = createPool({
      threads: 2,
      queue: 9,
      worker: { ...workerSettings, engine: 'auto', lean: false },
    });
    await pool.start();
    const after = niceValues();
    await pool.close();
    const nicer = [...after].filter(([thread, nice]) => !before.has(thread) && nice > main);
    // A thread that a worker starts, as the first to want one of libuv's, inherits it.
    expect(nicer).to.have.lengthOf.at.least(2);
    for (const [thread, nice] of before) expect(after.get(thread) ?? nice).to.equal(nice);
  });

  it('leave their priority alone elsewhere, where it is the whole process’s', () => {
    const set = () => expect.fail('the priority was set');
    for (const platform of ['darwin', 'win32', 'freebsd'] as const) yieldToOthers({ platform, set });
  });

  it('do their work where a sandbox forbids it', () => {
    const set = () => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    };
    yieldToOthers({ platform: 'linux', set });
  });
});
