import { expect } from 'chai';
import { type Kysely, sql } from 'kysely';
import { type BatchSource, createBatchWriter } from '../../../gateway/usage/batch-writer.js';
import type { UsageTables } from '../../../gateway/usage/tables.js';
import { skipWithout } from '../../needs.js';
import { databases, type TestDatabase } from './databases.js';
import { createQuietLog } from './quiet.js';

/** Adds `waiting` to one quota row; `fail` makes the write fail after it has run. */
function createCounter() {
  const counter = { waiting: 0, fail: false, commits: [] as boolean[] };
  const source: BatchSource = {
    drain() {
      if (counter.waiting === 0) return undefined;
      const count = counter.waiting;
      counter.waiting = 0;
      return {
        async write(trx) {
          await sql`insert into quota_use (tenant, month, used) values ('t', '2025-01', ${count})
            on conflict (tenant, month) do update set used = quota_use.used + ${count}`.execute(trx);
          if (counter.fail) throw new Error('the database went away');
        },
        committed: (written) => void counter.commits.push(written),
      };
    },
  };
  return { counter, source };
}

/** A handle whose commits succeed but are reported as failed while `lost.on`: a connection lost at COMMIT. */
function losingCommits(db: Kysely<UsageTables>, lost: { on: boolean }): Kysely<UsageTables> {
  const transaction = () => ({
    async execute(work: never) {
      const result = await db.transaction().execute(work);
      if (lost.on) throw new Error('Connection terminated unexpectedly');
      return result;
    },
  });
  return new Proxy(db, {
    get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name)),
  });
}

for (const { name, open } of databases) {
  describe(`batch writer on ${name}`, () => {
    let database: TestDatabase;
    let db: Kysely<UsageTables>;

    before(async function () {
      const opened = await open();
      if (!opened) return skipWithout(this, `a ${name} server on 127.0.0.1`);
      database = opened;
      db = await database.connect();
    });

    afterEach(async () => {
      await db?.deleteFrom('quota_use').execute();
    });

    after(async () => {
      await db?.destroy();
      await database?.remove();
    });

    async function used(): Promise<number> {
      const row = await db.selectFrom('quota_use').select('used').executeTakeFirst();
      return Number(row?.used ?? 0);
    }

    it('keeps a batch that fails, and writes it whole once with what came since', async () => {
      const logger = createQuietLog();
      const writer = createBatchWriter({ db, logger, flushEveryMs: 60_000 });
      const { counter, source } = createCounter();
      writer.add(source);
      counter.waiting = 3;
      counter.fail = true;
      expect(await writer.flush()).to.equal(false);
      expect(await writer.flush()).to.equal(false);
      expect(await used()).to.equal(0);
      counter.waiting = 4;
      counter.fail = false;
      expect(await writer.flush()).to.equal(true);
      expect(await used()).to.equal(7);
      expect(logger.lines.map((line) => line.level)).to.deep.equal(['warn', 'info']);
      await writer.close();
    });

    it('counts a batch once whose commit was reported as failed', async () => {
      const lost = { on: true };
      const writer = createBatchWriter({
        db: losingCommits(db, lost),
        logger: createQuietLog(),
        flushEveryMs: 60_000,
      });
      const { counter, source } = createCounter();
      writer.add(source);
      counter.waiting = 3;
      expect(await writer.flush()).to.equal(false);
      lost.on = false;
      counter.waiting = 1;
      expect(await writer.flush()).to.equal(true);
      expect(await used()).to.equal(4);
      expect(counter.commits).to.deep.equal([false, true]);
      await writer.close();
    });

    it('writes by itself at its interval', async () => {
      const writer = createBatchWriter({ db, logger: createQuietLog(), flushEveryMs: 50 });
      const { counter, source } = createCounter();
      writer.add(source);
      counter.waiting = 2;
      for (let look = 0; look < 100 && (await used()) === 0; look += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(await used()).to.equal(2);
      await writer.close();
    });

    it('gives up at close in bounded time and says that counts are lost', async () => {
      const logger = createQuietLog();
      const writer = createBatchWriter({ db, logger, flushEveryMs: 60_000, closeMs: 300 });
      const { counter, source } = createCounter();
      writer.add(source);
      counter.waiting = 1;
      counter.fail = true;
      await writer.close();
      expect(logger.lines.at(-1)?.level).to.equal('error');
    });
  });
}
