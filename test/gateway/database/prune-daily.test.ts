import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { pruneWriters } from '../../../gateway/database/batch-writer.js';
import type { Access, NoTables } from '../../../gateway/database/database.js';
import { type Prune, pruneDaily } from '../../../gateway/database/prune-daily.js';
import { database as databaseStore, StoreError } from '../../../gateway/database/store-error.js';
import { pruneQuotas, type QuotaTables } from '../../../gateway/limits/counters.js';
import { pruneUsage, type UsageTables } from '../../../gateway/usage/store.js';
import { createSqliteDatabase, onEachDatabase, type TestDatabase } from '../databases.js';
import { createQuietLog } from '../usage/quiet.js';

describe('database/prune-daily', () => {
  let files: TestDatabase;
  beforeEach(async () => {
    files = await createSqliteDatabase();
  });
  afterEach(() => files.drop());

  it('runs every part at the start, with the time', async () => {
    const times: number[] = [];
    const part: Prune = async (_, now) => {
      times.push(now);
      return 0;
    };
    const access = (await files.connect()).access();
    const logger = createQuietLog();
    const before = Date.now();
    await pruneDaily({ access, logger, parts: [part, part] }).close();
    expect(times).to.have.length(2);
    for (const time of times) expect(time).to.be.within(before, Date.now());
    expect(logger.lines).to.deep.equal([]);
  });

  it('says that it could not, and throws nothing', async () => {
    const gone = () => Promise.reject(new StoreError(databaseStore, new Error('gone')));
    const access: Access<NoTables> = { kind: 'sqlite', run: gone, change: gone };
    const logger = createQuietLog();
    await pruneDaily({ access, logger, parts: [async () => 0] }).close();
    expect(logger.lines.map((line) => line.level)).to.deep.equal(['warn']);
  });

  it('leaves the rest of many rows to the next start when it is closed', async () => {
    const access = (await files.connect()).access();
    let calls = 0;
    const endless: Prune = async (_trx, _now, most) => {
      calls += 1;
      return most;
    };
    await pruneDaily({ access, logger: createQuietLog(), parts: [endless] }).close();
    expect(calls).to.equal(1);
  });
});

type Tables = UsageTables & QuotaTables & { usage_writers: { id: string; batch: number; at: number } };

const now = Date.now();
const old = '2020-01-31';
const today = new Date(now).toISOString().slice(0, 10);

/** As many rows, of which those are old, in each table that is pruned. */
async function fill({ change }: Access<Tables>, day: string, count: number): Promise<void> {
  const sums = { calls: 1, errors_client: 0, errors_limited: 0, errors_server: 0, bytes_in: 0, bytes_out: 0 };
  for (let from = 0; from < count; from += 500) {
    const ids = Array.from({ length: Math.min(500, count - from) }, (_, at) => `${day}-${from + at}`);
    await change(async (trx) => {
      const usage = ids.map((id) => ({
        tenant: id,
        day,
        key_id: 'k',
        service: 'text/a',
        ...sums,
        cpu_ms: 1,
      }));
      await trx.insertInto('usage_daily').values(usage).execute();
      const quotas = ids.map((id) => ({ tenant: id, month: day.slice(0, 7), used: 1 }));
      await trx.insertInto('quota_use').values(quotas).execute();
      const writers = ids.map((id) => ({ id, batch: 1, at: Date.parse(day) }));
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
      const parts = [pruneUsage(400), pruneQuotas(400), pruneWriters].map((prune): Prune => {
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
      expect(deleted).to.deep.equal([1, 2, 3].map(() => [1_000, 1_000, 500]));
      for (const table of ['usage_daily', 'quota_use', 'usage_writers'] as const) {
        const rows = await access.run((db) => db.selectFrom(table).selectAll().execute());
        expect(rows, table).to.have.length(10);
      }
      expect(logger.lines).to.deep.equal([]);
    });
  }));
