import { expect } from 'chai';
import type { Kysely } from 'kysely';
import { createBatchWriter } from '../../../gateway/usage/batch-writer.js';
import { createUsageMeter } from '../../../gateway/usage/meter.js';
import type { UsageTables } from '../../../gateway/usage/tables.js';
import type { UsageRecord } from '../../../gateway/usage/tally.js';
import { skipWithout } from '../../needs.js';
import { databases, type TestDatabase } from './databases.js';
import { createQuietLog } from './quiet.js';

const at = Date.now();
const today = new Date(at).toISOString().slice(0, 10);
const call: UsageRecord = {
  tenant: 'acme',
  key: 'k1',
  service: 'text/a',
  status: 200,
  bytesIn: 3,
  bytesOut: 5,
  cpuMs: 0.25,
  at,
};

function createMeter(db: Kysely<UsageTables>, options: { retentionDays?: number; maxRows?: number } = {}) {
  const logger = createQuietLog();
  const writer = createBatchWriter({ db, logger, flushEveryMs: 60_000, closeMs: 300 });
  return { logger, writer, meter: createUsageMeter({ db, writer, logger, ...options }) };
}

/** A meter that has deleted what is old: two SQLite handles in one thread wait for each other in vain. */
async function createSettled(db: Kysely<UsageTables>) {
  await db.insertInto('usage_writers').values({ id: 'long gone', batch: 1, at: 0 }).execute();
  const made = createMeter(db);
  const waiting = () => db.selectFrom('usage_writers').where('at', '=', 0).select('id').execute();
  for (let look = 0; look < 200 && (await waiting()).length > 0; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return made;
}

for (const { name, open } of databases) {
  describe(`usage on ${name}`, () => {
    let database: TestDatabase;
    let db: Kysely<UsageTables>;

    before(async function () {
      const opened = await open();
      if (!opened) return skipWithout(this, `a ${name} server on 127.0.0.1`);
      database = opened;
      db = await database.connect();
    });

    afterEach(async () => {
      for (const table of ['usage_daily', 'usage_writers', 'quota_use'] as const) {
        await db?.deleteFrom(table).execute();
      }
    });

    after(async () => {
      await db?.destroy();
      await database?.remove();
    });

    it('shows what was flushed, errors by class', async () => {
      const { meter, writer } = createMeter(db);
      for (const status of [200, 200, 400, 429, 500]) meter.record({ ...call, status });
      await writer.flush();
      expect(await meter.usage('acme')).to.deep.equal({
        rows: [
          {
            day: today,
            key: 'k1',
            service: 'text/a',
            calls: 5,
            errors: 3,
            errors_client: 1,
            errors_limited: 1,
            errors_server: 1,
            bytes_in: 15,
            bytes_out: 25,
            cpu_ms: 1.3,
          },
        ],
      });
      await meter.close();
    });

    it('shows a tenant nothing of another', async () => {
      const { meter, writer } = createMeter(db);
      meter.record(call);
      await writer.flush();
      expect(await meter.usage('other')).to.deep.equal({ rows: [] });
      await meter.close();
    });

    it('sums up what several meters count', async () => {
      const other = await database.connect();
      const meters = [await createSettled(db), await createSettled(other)];
      for (let round = 0; round < 5; round += 1) {
        for (const { meter } of meters) meter.record(call);
        for (const { writer } of meters) expect(await writer.flush()).to.equal(true);
      }
      const rows = await meters[0]?.meter.usage('acme');
      expect(rows?.rows.map((row) => row.calls)).to.deep.equal([10]);
      for (const { meter } of meters) await meter.close();
      await other.destroy();
    });

    it('loses nothing at close', async () => {
      const { meter, writer } = createMeter(db);
      meter.record(call);
      await meter.close();
      await writer.close();
      expect((await meter.usage('acme')).rows).to.have.length(1);
    });

    it('counts sums past 32 bits', async () => {
      const { meter, writer } = createMeter(db);
      for (let round = 0; round < 2; round += 1) {
        meter.record({ ...call, bytesIn: 2 ** 40 });
        await writer.flush();
      }
      expect((await meter.usage('acme')).rows[0]?.bytes_in).to.equal(2 ** 41);
      await meter.close();
    });

    it('gives pages, newest day first, each row once', async () => {
      const { meter, writer } = createMeter(db);
      for (let age = 0; age < 3; age += 1) {
        for (const key of ['k1', 'k2']) {
          for (const service of ['text/a', 'text/b']) {
            meter.record({ ...call, key, service, at: at - age * 86_400_000 });
          }
        }
      }
      await writer.flush();
      const whole = (await meter.usage('acme')).rows;
      const seen: typeof whole = [];
      let after: string | undefined;
      for (let page = 0; page < 4; page += 1) {
        const { rows, next } = await meter.usage('acme', { limit: 5, ...(after ? { after } : {}) });
        seen.push(...rows);
        after = next;
        if (!next) break;
      }
      expect(seen).to.deep.equal(whole);
      expect(whole).to.have.length(12);
      expect(whole.map((row) => row.day)).to.deep.equal(
        whole
          .map((row) => row.day)
          .toSorted()
          .reverse(),
      );
      await meter.close();
    });

    it('gives the days from and to, both included', async () => {
      const { meter, writer } = createMeter(db);
      for (const day of ['2030-01-01', '2030-01-02', '2030-01-03', '2030-01-04']) {
        meter.record({ ...call, at: Date.parse(day) });
      }
      await writer.flush();
      const { rows } = await meter.usage('acme', { from: '2030-01-02', to: '2030-01-03' });
      expect(rows.map((row) => row.day)).to.deep.equal(['2030-01-03', '2030-01-02']);
      await meter.close();
    });

    it('refuses a day that is none, and a limit out of range, naming the field', async () => {
      const { meter } = createMeter(db);
      for (const query of [
        { from: '2025-02-30' },
        { to: 'today' },
        { limit: 0 },
        { limit: 5001 },
        { after: '!' },
      ]) {
        const refusal = await meter.usage('acme', query).catch((error) => error);
        expect(refusal.code).to.equal('invalid_input');
        expect(refusal.details[0].field).to.equal(Object.keys(query)[0]);
      }
      await meter.close();
    });

    it('deletes at the start what is older than the days it keeps', async () => {
      const first = createMeter(db);
      for (const age of [0, 1, 2, 3]) first.meter.record({ ...call, at: at - age * 86_400_000 });
      await first.meter.close();
      const second = createMeter(db, { retentionDays: 2 });
      await second.meter.close();
      expect((await second.meter.usage('acme')).rows).to.have.length(2);
    });

    it('writes thousands of rows in one batch', async () => {
      const { meter, writer } = createMeter(db);
      for (let key = 0; key < 1500; key += 1) meter.record({ ...call, key: `k${key}` });
      expect(await writer.flush()).to.equal(true);
      expect((await meter.usage('acme', { limit: 5000 })).rows).to.have.length(1500);
      await meter.close();
    });

    it('says once that rows go uncounted when too many wait', async () => {
      const { meter, logger, writer } = createMeter(db, { maxRows: 2 });
      for (const key of ['a', 'b', 'c', 'd']) meter.record({ ...call, key });
      await writer.flush();
      expect(logger.lines.filter((line) => line.level === 'error')).to.have.length(1);
      expect((await meter.usage('acme')).rows).to.have.length(2);
      await meter.close();
    });
  });
}
