import { expect } from 'chai';
import { sql } from 'kysely';
import {
  type BatchSource,
  type BatchWriter,
  type BatchWriterOptions,
  createBatchWriter,
} from '../../../gateway/database/batch-writer.js';
import type { Database } from '../../../gateway/database/database.js';
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

describe('database/batch-writer', () =>
  onEachDatabase(
    (files) => {
      let database: Database;
      let writer: BatchWriter | undefined;
      beforeEach(async () => {
        database = await files().connect();
      });
      afterEach(() => writer?.close());

      function createWriter(options: Partial<BatchWriterOptions> = {}) {
        const logger = createQuietLog();
        const access = database.access();
        const made = createBatchWriter({ access, logger, flushEveryMs: 60_000, ...options });
        writer = made;
        const { counter, source } = createCounter();
        made.add(source);
        return { logger, writer: made, counter };
      }

      async function used(): Promise<number> {
        const { run } = database.access<QuotaTables>();
        const row = await run((db) => db.selectFrom('quota_use').select('used').executeTakeFirst());
        return row?.used ?? 0;
      }

      it('keeps a batch that fails, and writes it whole once with what came since', async () => {
        const { logger, writer, counter } = createWriter();
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
      });

      it('writes each piece in a transaction of its own, and others meanwhile', async () => {
        const access = database.access();
        const others: Promise<unknown>[] = [];
        let order = '';
        const change: typeof access.change = async (work) => {
          others.push(access.run((db) => sql`select 1`.execute(db)).then(() => (order += 'r')));
          const result = await access.change(work);
          order += 'w';
          return result;
        };
        const { writer, counter } = createWriter({ access: { ...access, change } });
        Object.assign(counter, { waiting: 5, aPiece: 2 });
        expect(await writer.flush()).to.equal(true);
        expect(counter.commits).to.deep.equal([true, true, true]);
        expect(await used()).to.equal(5);
        await Promise.all(others);
        // On SQLite, which has one connection, nothing waits for a second piece.
        if (files().kind === 'sqlite') expect(order).to.equal('rwrwrw');
      });

      it('takes pieces of several sources into one transaction', async () => {
        const { writer, counter } = createWriter();
        const other = createCounter();
        writer.add(other.source);
        for (const each of [counter, other.counter]) Object.assign(each, { waiting: 2, aPiece: 1 });
        expect(await writer.flush()).to.equal(true);
        const { change } = database.access();
        const { rows } = await change((trx) =>
          sql<{ batch: number; at: number }>`select batch, at from usage_writers`.execute(trx),
        );
        expect(rows.map(({ batch }) => batch)).to.deep.equal([2]);
        expect(rows[0]?.at).to.be.within(Date.now() - 60_000, Date.now());
        expect(await used()).to.equal(4);
      });

      it('counts a piece once whose commit was reported as failed, and goes on after it', async () => {
        const access = database.access();
        let isLost = true;
        const change: typeof access.change = async (work) => {
          const result = await access.change(work);
          if (isLost) throw new Error('Connection terminated unexpectedly');
          return result;
        };
        const { writer, counter } = createWriter({ access: { ...access, change } });
        Object.assign(counter, { waiting: 6, aPiece: 2 });
        expect(await writer.flush()).to.equal(false);
        expect(await used()).to.equal(2);
        isLost = false;
        counter.waiting += 1;
        expect(await writer.flush()).to.equal(true);
        expect(await used()).to.equal(7);
        expect(counter.commits[0]).to.equal(false);
      });

      it('writes by itself at its interval', async () => {
        const { counter } = createWriter({ flushEveryMs: 50 });
        counter.waiting = 2;
        expect(await until(used)).to.equal(2);
      });

      it('gives up at close in bounded time and says that counts are lost', async () => {
        const { logger, writer, counter } = createWriter({ closeMs: 300 });
        counter.waiting = 1;
        counter.fail = true;
        await writer.close();
        expect(logger.lines.at(-1)?.level).to.equal('error');
      });
    },
    { ownThread: true },
  ));
