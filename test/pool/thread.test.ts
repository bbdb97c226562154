import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createPool, type Pool } from '../../pool/pool.js';
import { createTaskDeadline } from '../../pool/task-limits.js';
import { lowerPriority } from '../../pool/thread-settings.js';
import { skipWithout } from '../needs.js';
import { callTask, workerSettings } from './worker-settings.js';

describe('the deadline of a thread’s tasks', () => {
  /** What is told of a task of a millisecond, until `last` has been, or where there is `none` for some time. */
  function told(
    last: 'time' | 'over',
    { none = false, runs = true, isDebugged = (): boolean => false } = {},
  ): Promise<string[]> {
    const events: string[] = [];
    return new Promise((resolve) => {
      const tell = (event: string) => {
        events.push(event);
        if (event !== last) return;
        deadline.close();
        resolve(events);
      };
      const deadline = createTaskDeadline({
        onTime: () => {
          tell('time');
          return runs;
        },
        onOver: () => tell('over'),
        isDebugged,
      });
      deadline.begin(1);
      // Where nothing is to be told; the deadline keeps no process alive.
      if (none) setTimeout(() => resolve(events), 600);
    });
  }

  it('gives a task that was told a grace', async () => {
    expect(await told('over')).to.deep.equal(['time', 'over']);
  });

  it('ends nothing where none runs any more', async () => {
    expect(await told('over', { none: true, runs: false })).to.deep.equal(['time']);
  });

  it('is none while somebody steps through the code', async () => {
    expect(await told('over', { none: true, isDebugged: () => true })).to.deep.equal([]);
  });

  it('is the last task’s alone, whatever the one before had', async () => {
    const events: string[] = [];
    const deadline = createTaskDeadline({
      onTime: () => events.push('time') > 0,
      onOver: () => events.push('over'),
      isDebugged: () => false,
    });
    deadline.begin(20);
    deadline.begin(10_000);
    await new Promise((resolve) => setTimeout(resolve, 60));
    deadline.close();
    expect(events).to.deep.equal([]);
  });
});

describe('memory outside the heap', function () {
  this.timeout(600_000);
  let pool: Pool;
  const faults: string[] = [];

  before(async () => {
    pool = createPool({
      threads: 1,
      queue: 9,
      worker: { ...workerSettings, taskTimeoutMs: 600_000 },
      onFault: ({ message }) => faults.push(message),
    });
    await pool.start();
  });

  after(() => pool.close());

  const run = (plugin: string, input: Record<string, unknown> = {}) => {
    const turn = pool.ticket({ tenant: 'a', weight: 1, most: null });
    return turn.run(callTask(plugin, input)).finally(turn.release);
  };

  for (const how of ['sync', 'async', 'shared']) {
    it(`ends the thread that fills it, and its call alone: ${how}`, async () => {
      const error = await run('buffers', { how }).catch((thrown) => thrown);
      expect(error).to.include({ code: 'internal' });
      expect(error.message).to.match(/ran past its memory/);
      expect((await run('echo', { value: 'x' })).ok).to.equal(true);
    });
  }

  it('is watched over many short tasks, too', async () => {
    const outcomes = new Set<string>();
    faults.length = 0;
    for (let count = 0; count < 120 && outcomes.size < 2; count += 1) {
      outcomes.add(
        await run('buffers', { how: 'leak' }).then(
          () => 'fine',
          () => 'ended',
        ),
      );
      if (faults.length > 0) break;
      // Past the bound, what looks every 50 ms may come late on a busy machine.
      if (count > 12) await sleep(50);
    }
    const isEnded = outcomes.has('ended') || faults.some((fault) => /left behind/.test(fault));
    expect(isEnded, `${[...outcomes]}; ${faults}`).to.equal(true);
    expect((await run('echo', { value: 'x' })).ok).to.equal(true);
  });
});

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
    for (const platform of ['darwin', 'win32', 'freebsd'] as const) lowerPriority({ platform, set });
  });

  it('do their work where a sandbox forbids it', () => {
    const set = () => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    };
    lowerPriority({ platform: 'linux', set });
  });
});
