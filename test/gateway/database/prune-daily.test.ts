import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { pruneWriters } from '../../../gateway/database/batch-writer.js';
import type { Access, NoTables } from '../../../gateway/database/database.js';
import { type Prune, pruneDaily } from '../../../gateway/database/prune-daily.js';
import { database as databaseStore, StoreError } from '../../../gateway/database/store-error.js';
import { pruneQuotas, type QuotaTables } from '../../../gateway/limits/counters.js';
import { pruneUsage, type UsageTables } from '../../../gateway/usage/store.js';
import { createSqliteDatabase, onEachDatabase } from '../databases.js';
import { createQuietLog } from '../usage/quiet.js';

describe('database/prune-daily', () => {
  const logger = createQuietLog();
  const prune = (access: Access<NoTables>, parts: Prune[]) => pruneDaily({ access, logger, parts }).close();
  const accessThat = (change: () => Promise<never>) => ({ kind: 'sqlite', run: change, change }) as const;

  it('runs every part at the start, with the time, and leaves the rest of many rows when it is closed', async () => {
    const files = await createSqliteDatabase();
    const times: number[] = [];
    const parts = [0, 1_000].map(
      (count): Prune =>
        async (_, now) => {
          times.push(now);
          return count;
        },
    );
    const before = Date.now();
    await prune((await files.connect()).access(), parts);
    expect(times).to.have.length(2);
    for (const time of times) expect(time).to.be.within(before, Date.now());
    expect(logger.lines).to.deep.equal([]);
    await files.drop();
  });

  it('says that it could not, and throws nothing', async () => {
    const gone = () => Promise.reject(new StoreError(databaseStore, new Error('gone')));
    await prune(accessThat(gone), [async () => 0]);
    expect(logger.lines.map((line) => line.level)).to.deep.equal(['warn']);
  });
});

type Tables = UsageTables & QuotaTables & { usage_writers: { id: string; batch: number; at: number } };

const now = Date.now();
const old = '2020-01-31';
const today = new Date(now).toISOString().slice(0, 10);

/** As many rows in each table that is pruned: of this day, and of processes that ended a month and a day ago, or not yet a month. */
async function fill({ change }: Access<Tables>, day: string, count: number): Promise<void> {
  const sums = { calls: 1, errors_client: 0, errors_limited: 0, errors_server: 0, bytes_in: 0, bytes_out: 0 };
  for (let from = 0; from < count; from += 500) {
    const ids = Array.from({ length: Math.min(500, count - from) }, (_, at) => `${day}-${from + at}`);
    await change(async (trx) => {
      const of = { day, key_id: 'k', service: 'text/a', cpu_ms: 1 };
      const usage = ids.map((id) => ({ tenant: id, ...of, ...sums }));
      await trx.insertInto('usage_daily').values(usage).execute();
      const failures = usage.map((row) => ({ ...row, code: 'internal' }));
      await trx.insertInto('usage_failures').values(failures).execute();
      const rollup = usage.map(({ key_id: _, ...row }) => row);
      await trx.insertInto('usage_rollup').values(rollup).execute();
      const quotas = ids.map((id) => ({ tenant: id, month: day.slice(0, 7), used: 1 }));
      await trx.insertInto('quota_use').values(quotas).execute();
      const writers = ids.map((id) => ({ id, batch: 1, at: now - (day === old ? 31 : 29) * 86_400_000 }));
      await trx.insertInto('usage_writers').values(writers).execute();
    });
  }
}

describe('pruning', () =>
  onEachDatabase((files) => {
    it('deletes what is old and nothing else, at most a thousand rows in a transaction', async () => {
      const database = await files().connect();
      const access = database.access<Tables>();
      await fill(access, old, 2_500);
      await fill(access, today, 10);
      const deleted: number[][] = [];
      const parts = [...pruneUsage(400), pruneQuotas(400), pruneWriters].map((prune): Prune => {
        const counts: number[] = [];
        deleted.push(counts);
        return async (trx, now, most) => {
          const count = await prune(trx, now, most);
          counts.push(count);
          return count;
        };
      });
      const logger = createQuietLog();
      const pruning = pruneDaily({ access: database.access(), logger, parts });
      while ((deleted.at(-1)?.at(-1) ?? 1_000) === 1_000) await pause(10);
      await pruning.close();
      expect(deleted).to.deep.equal([1, 2, 3, 4, 5].map(() => [1_000, 1_000, 500]));
      for (const table of [
        'usage_daily',
        'usage_failures',
        'usage_rollup',
        'quota_use',
        'usage_writers',
      ] as const) {
        const rows = await access.run((db) => db.selectFrom(table).selectAll().execute());
        expect(rows, table).to.have.length(10);
      }
      expect(logger.lines).to.deep.equal([]);
    });
  }));
