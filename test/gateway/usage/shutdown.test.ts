import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { skipWithout } from '../../needs.js';
import { databases, type TestDatabase } from './databases.js';

const recorder = fileURLToPath(new URL('./recorder.js', import.meta.url));
const FLUSH_MS = 200;
// How much later than its interval a busy machine may run a flush.
const SLACK_MS = 1000;

for (const { name, open } of databases) {
  describe(`usage of a process that ends, on ${name}`, () => {
    let database: TestDatabase;

    beforeEach(async function () {
      const opened = await open();
      if (!opened) return skipWithout(this, `a ${name} server on 127.0.0.1`);
      database = opened;
    });

    afterEach(() => database?.remove());

    async function calls(): Promise<number> {
      const db = await database.connect();
      const row = await db.selectFrom('usage_daily').select('calls').executeTakeFirst();
      await db.destroy();
      return Number(row?.calls ?? 0);
    }

    /** Runs a recorder for a time after its first call. */
    async function run(
      ms: number,
    ): Promise<{ child: ChildProcess; counts: { at: number; count: number }[] }> {
      const child = fork(recorder, [JSON.stringify(database.address), String(FLUSH_MS)]);
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
      const due = counts.findLast(({ at }) => at < killedAt - FLUSH_MS - SLACK_MS)?.count;
      if (due === undefined) throw new Error('the recorder ran too short');
      expect(written).to.be.at.least(due);
      expect(written).to.be.at.most(counts.at(-1)?.count ?? 0);
    });
  });
}
