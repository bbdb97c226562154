import { readdirSync, readFileSync } from 'node:fs';
import inspector from 'node:inspector';
import { mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Pool } from '../../pool/pool.js';
import { createTaskDeadline } from '../../pool/task-limits.js';
import { lowerPriority } from '../../pool/thread-settings.js';
import { rejection } from '../gateway/download/raw-server.js';
import { skipWithout } from '../needs.js';
import { callTask, poolOf, run, workerSettings } from './worker-settings.js';

describe('the deadline of a thread’s tasks', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  for (const [what, { runs = true, isDebugged = false, tasks = [10] }, expected] of [
    ['gives a task that was notified a grace', {}, ['time', 'over']],
    ['ends nothing where none runs any more', { runs: false }, ['time']],
    ['is none while a debugger is attached', { isDebugged: true }, []],
    ['is the last task’s alone, whatever the one before had', { tasks: [10, 10_000] }, []],
  ] as [string, { runs?: boolean; isDebugged?: boolean; tasks?: number[] }, string[]][]) {
    it(what, () => {
      if (isDebugged) inspector.open(0);
      const events: string[] = [];
      const deadline = createTaskDeadline({
        onTime: () => {
          events.push('time');
          return runs;
        },
        onOver: () => events.push('over'),
      });
      for (const ms of tasks) deadline.begin(ms);
      for (let at = 0; at < 60; at += 1) mock.timers.tick(10);
      deadline.close();
      if (isDebugged) inspector.close();
      expect(events).to.deep.equal(expected);
    });
  }
});

describe('memory outside the heap', function () {
  this.timeout(600_000);
  let pool: Pool;
  const faults: string[] = [];

  before(async () => {
    pool = poolOf({
      worker: { ...workerSettings, taskTimeoutMs: 600_000 },
      onFault: ({ message }) => faults.push(message),
    });
    await pool.start();
  });
  after(() => pool.close());

  const fill = (how: string) => run(pool, callTask('buffers', { how }));
  const echoes = async () => expect((await run(pool, callTask('echo'))).ok).to.equal(true);

  for (const how of ['sync', 'async', 'shared']) {
    it(`ends the thread that fills it, and its call alone: ${how}`, async () => {
      const error = await rejection(fill(how));
      expect(error).to.include({ code: 'internal' });
      expect(error.message).to.match(/ran past its memory/);
      await echoes();
    });
  }

  it('is watched over many short tasks, too', async () => {
    let isEnded = false;
    faults.length = 0;
    for (let count = 0; count < 120 && !isEnded; count += 1) {
      isEnded = await fill('leak').then(
        () => faults.some((fault) => /left behind/.test(fault)),
        () => true,
      );
      // Past the bound, what looks every 50 ms may come late on a busy machine.
      if (count > 12) await sleep(50);
    }
    expect(isEnded, String(faults)).to.equal(true);
    await echoes();
  });
});

/** The nice value of each of this process's threads, by thread; others than ours end when they like. */
function niceValues(): Map<number, number> {
  const values = new Map<number, number>();
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
      // proc_pid_stat(5): the 19th field; the second is a name in brackets, which may hold spaces.
      values.set(Number(thread), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]));
    } catch {
      // The thread has ended.
    }
  }
  return values;
}

describe('worker threads', () => {
  it('yield to the main thread, on Linux', async function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux');
    const before = niceValues();
    const main = before.get(process.pid) as number;
    const pool = poolOf({ threads: 2, worker: { ...workerSettings, engine: 'auto', lean: false } });
    await pool.start();
    const after = niceValues();
    await pool.close();
    const nicer = [...after].filter(([thread, nice]) => !before.has(thread) && nice > main);
    // A thread that a worker starts, as the first to want one of libuv's, inherits it.
    expect(nicer).to.have.lengthOf.at.least(2);
    for (const [thread, nice] of before) expect(after.get(thread) ?? nice).to.equal(nice);
  });

  it('leave their priority alone elsewhere, where it is the whole process’s, and work where a sandbox forbids it', () => {
    const set = () => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    };
    lowerPriority({ platform: 'linux', set });
    for (const platform of ['darwin', 'win32', 'freebsd'] as const) {
      lowerPriority({ platform, set: () => expect.fail('the priority was set') });
    }
  });
});
