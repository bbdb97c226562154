import { expect } from 'chai';
import { sql } from 'kysely';
import {
  type BatchSource,
  type BatchWriterOptions,
  createBatchWriter,
  pruneWriters,
} from '../../../gateway/database/batch-writer.js';
import type { Access, Database, NoTables } from '../../../gateway/database/database.js';
import type { QuotaTables } from '../../../gateway/limits/counters.js';
import { until } from '../../needs.js';
import { onEachDatabase } from '../databases.js';
import { createQuietLog } from '../usage/quiet.js';

/** Adds `waiting` to one quota row, at most `aPiece` at once; `fail` makes the write fail after it has run. */
function createCounter() {
  const counter = { waiting: 0, aPiece: Number.POSITIVE_INFINITY, fail: false, commits: [] as boolean[] };
  const source: BatchSource = {
    *drain() {
      while (counter.waiting > 0) {
        const count = Math.min(counter.waiting, counter.aPiece);
        counter.waiting -= count;
        yield {
          async write(trx) {
            await sql`insert into quota_use (tenant, month, used) values ('t', '2025-01', ${count})
              on conflict (tenant, month) do update set used = quota_use.used + ${count}`.execute(trx);
            if (counter.fail) throw new Error('the database went away');
          },
          committed: (written) => void counter.commits.push(written),
        };
      }
    },
  };
  return { counter, source };
}

/** A way whose commits succeed but are reported as failed while `lost.on`: a connection lost at COMMIT. */
function losingCommits(access: Access<NoTables>, lost: { on: boolean }): Access<NoTables> {
  return {
    ...access,
    async change(work) {
      const result = await access.change(work);
      if (lost.on) throw new Error('Connection terminated unexpectedly');
      return result;
    },
  };
}

describe('database/batch-writer', () =>
  onEachDatabase(
    (files) => {
      let database: Database;
      beforeEach(async () => {
        database = await files().connect();
      });

      function createWriter(options: Partial<BatchWriterOptions> = {}) {
        const logger = createQuietLog();
        const access = database.access();
        return { logger, writer: createBatchWriter({ access, logger, flushEveryMs: 60_000, ...options }) };
      }

      async function used(): Promise<number> {
        const { run } = database.access<QuotaTables>();
        const row = await run((db) => db.selectFrom('quota_use').select('used').executeTakeFirst());
        return row?.used ?? 0;
      }

      it('keeps a batch that fails, and writes it whole once with what came since', async () => {
        const { logger, writer } = createWriter();
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
        const { writer } = createWriter({ access: losingCommits(database.access(), lost) });
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

      it('writes each piece in a transaction of its own, and others meanwhile', async () => {
        const access = database.access();
        const others: Promise<unknown>[] = [];
        let order = '';
        const { writer } = createWriter({
          access: {
            ...access,
            async change(work) {
              others.push(access.run((db) => sql`select 1`.execute(db)).then(() => (order += 'r')));
              const result = await access.change(work);
              order += 'w';
              return result;
            },
          },
        });
        const { counter, source } = createCounter();
        writer.add(source);
        Object.assign(counter, { waiting: 5, aPiece: 2 });
        expect(await writer.flush()).to.equal(true);
        expect(counter.commits).to.deep.equal([true, true, true]);
        expect(await used()).to.equal(5);
        await Promise.all(others);
        // On SQLite, which has one connection, nobody waits for a second piece.
        if (files().kind === 'sqlite') expect(order).to.equal('rwrwrw');
        await writer.close();
      });

      it('takes pieces of several sources into one transaction', async () => {
        const { writer } = createWriter();
        const counters = [createCounter(), createCounter()];
        for (const { counter, source } of counters) {
          writer.add(source);
          Object.assign(counter, { waiting: 2, aPiece: 1 });
        }
        expect(await writer.flush()).to.equal(true);
        const { change } = database.access();
        const { rows } = await change((trx) =>
          sql<{ batch: number }>`select batch from usage_writers`.execute(trx),
        );
        expect(rows.map(({ batch }) => batch)).to.deep.equal([2]);
        expect(await used()).to.equal(4);
        await writer.close();
      });

      it('goes on after the piece that failed, and counts none twice', async () => {
        const lost = { on: false };
        const { writer } = createWriter({ access: losingCommits(database.access(), lost) });
        const { counter, source } = createCounter();
        writer.add(source);
        Object.assign(counter, { waiting: 6, aPiece: 2 });
        lost.on = true;
        expect(await writer.flush()).to.equal(false);
        expect(await used()).to.equal(2);
        lost.on = false;
        counter.waiting += 1;
        expect(await writer.flush()).to.equal(true);
        expect(await used()).to.equal(7);
        expect(counter.commits[0]).to.equal(false);
        await writer.close();
      });

      it('writes by itself at its interval', async () => {
        const { writer } = createWriter({ flushEveryMs: 50 });
        const { counter, source } = createCounter();
        writer.add(source);
        counter.waiting = 2;
        expect(await until(used)).to.equal(2);
        await writer.close();
      });

      it('forgets the processes that ended a month ago', async () => {
        const { writer } = createWriter();
        const { counter, source } = createCounter();
        writer.add(source);
        counter.waiting = 1;
        await writer.flush();
        const { change } = database.access();
        const rows = () => change(async (trx) => (await sql`select id from usage_writers`.execute(trx)).rows);
        for (const [days, left] of [
          [29, 1],
          [31, 0],
        ] as const) {
          await change((trx) => pruneWriters(trx, Date.now() + days * 86_400_000, 1_000));
          expect(await rows()).to.have.length(left);
        }
        await writer.close();
      });

      it('gives up at close in bounded time and says that counts are lost', async () => {
        const { logger, writer } = createWriter({ closeMs: 300 });
        const { counter, source } = createCounter();
        writer.add(source);
        counter.waiting = 1;
        counter.fail = true;
        await writer.close();
        expect(logger.lines.at(-1)?.level).to.equal('error');
      });
    },
    { ownThread: true },
  ));
