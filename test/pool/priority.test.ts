import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createPool } from '../../pool/pool.js';
import { yieldToOthers } from '../../pool/priority.js';

/** The nice value of each of this process's threads, by thread. */
function niceValues(): Map<number, number> {
  return new Map(
    readdirSync('/proc/self/task').map((thread) => {
      const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
      // proc_pid_stat(5): the 19th field; the second is a name in brackets, which may hold spaces.
      return [Number(thread), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])];
    }),
  );
}

describe('worker threads', () => {
  it('yield to the main thread, on Linux', async function () {
    if (process.platform !== 'linux') this.skip();
    const before = niceValues();
    const main = before.get(process.pid) as number;
    const pool = createPool({
      threads: 2,
      queue: 9,
      worker: {
        engine: 'auto',
        limits: { maxPixels: 1e6, maxFrames: 10 },
        fonts: [],
        taskTimeoutMs: 5000,
        maxJsonBytes: 4e6,
      },
    });
    await pool.start();
    const after = niceValues();
    await pool.close();
    const nicer = [...after].filter(([thread, nice]) => !before.has(thread) && nice > main);
    expect(nicer).to.have.lengthOf(2);
    expect(after.get(process.pid)).to.equal(main);
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
