import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createPool, type Pool } from '../../pool/pool.js';
import { callTask } from './call-task.js';
import { workerSettings } from './worker-settings.js';

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
    const turn = pool.turn({ tenant: 'a', weight: 1, most: null });
    return turn.run(callTask(plugin, input)).finally(turn.leave);
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
