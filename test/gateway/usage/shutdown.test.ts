import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { UsageTables } from '../../../gateway/usage/tables.js';
import { onEachDatabase } from '../databases.js';

const recorder = fileURLToPath(new URL('./recorder.js', import.meta.url));
const flushMs = 200;
// How much later than its interval a busy machine may run a flush.
const slackMs = 1000;

describe('usage of a process that ends', () =>
  onEachDatabase((files) => {
    async function calls(): Promise<number> {
      const { run } = (await files().connect()).access<UsageTables>();
      const row = await run((db) => db.selectFrom('usage_daily').select('calls').executeTakeFirst());
      return row?.calls ?? 0;
    }

    /** Runs a recorder for a time after its first call. */
    async function run(
      ms: number,
    ): Promise<{ child: ChildProcess; counts: { at: number; count: number }[] }> {
      const child = fork(recorder, [JSON.stringify(files()), String(flushMs)]);
      const counts: { at: number; count: number }[] = [];
      child.on('message', (count) => counts.push({ at: performance.now(), count: Number(count) }));
      await once(child, 'message');
      await new Promise((resolve) => setTimeout(resolve, ms));
      return { child, counts };
    }

    it('loses nothing at SIGTERM', async () => {
      const { child, counts } = await run(300);
      child.kill('SIGTERM');
      await once(child, 'exit');
      expect(await calls()).to.equal(counts.at(-1)?.count);
    });

    it('loses at most the last interval at kill -9', async () => {
      const { child, counts } = await run(1500);
      const killedAt = performance.now();
      child.kill('SIGKILL');
      await once(child, 'exit');
      const written = await calls();
      const due = counts.findLast(({ at }) => at < killedAt - flushMs - slackMs)?.count;
      if (due === undefined) throw new Error('the recorder ran too short');
      expect(written).to.be.at.least(due);
      expect(written).to.be.at.most(counts.at(-1)?.count ?? 0);
    });
  }));
