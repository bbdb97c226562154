import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Access } from '../../../gateway/database/database.js';
import type { UsageTables } from '../../../gateway/usage/store.js';
import { until } from '../../needs.js';
import { onEachDatabase } from '../databases.js';

const recorder = fileURLToPath(new URL('./recorder.js', import.meta.url));
const flushMs = 200;

describe('usage of a process that ends', () =>
  onEachDatabase((files) => {
    let access: Access<UsageTables>;
    beforeEach(async () => {
      access = (await files().connect()).access();
    });

    async function calls(): Promise<number> {
      const row = await access.run((db) => db.selectFrom('usage_daily').select('calls').executeTakeFirst());
      return row?.calls ?? 0;
    }

    /** A recorder that has written some of what it counts. */
    async function startRecorder() {
      const child = fork(recorder, [JSON.stringify(files()), String(flushMs)]);
      const counted: number[] = [];
      child.on('message', (count) => counted.push(Number(count)));
      const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
      await until(calls);
      return { child, counted, ended };
    }

    it('loses nothing at SIGTERM', async () => {
      const { child, counted, ended } = await startRecorder();
      child.kill('SIGTERM');
      await ended;
      expect(await calls()).to.equal(counted.at(-1));
    });

    it('loses at kill -9 only what is not written yet, which is written at each interval', async () => {
      const { child, counted, ended } = await startRecorder();
      let written = await calls();
      for (let intervals = 0; intervals < 3; intervals += 1) {
        const due = counted.at(-1) ?? 0;
        await until(async () => (await calls()) >= due);
        written = await calls();
      }
      child.kill('SIGKILL');
      await ended;
      expect(await calls()).to.be.within(written, counted.at(-1) ?? 0);
    });
  }));
