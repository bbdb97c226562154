import { expect } from 'chai';
import fc from 'fast-check';
import { sql } from 'kysely';
import { type BatchWriter, createBatchWriter } from '../../../gateway/database/batch-writer.js';
import type { Database } from '../../../gateway/database/database.js';
import { pruneDaily } from '../../../gateway/database/prune-daily.js';
import { createTally, createUsageMeter } from '../../../gateway/usage/meter.js';
import { pruneUsage, type UsageRecord } from '../../../gateway/usage/store.js';
import { onEachDatabase } from '../databases.js';
import { createQuietLog } from './quiet.js';

const at = Date.now();
const today = new Date(at).toISOString().slice(0, 10);
const counted = { tenant: 'acme', key: 'k1', service: 'text/a', status: 200, code: 'ok', ms: 12 };
const call: UsageRecord = { ...counted, requestId: 'r', bytesIn: 3, bytesOut: 5, cpuMs: 0.25, at };

describe('usage', () =>
  onEachDatabase((files) => {
    let database: Database;
    let logger: ReturnType<typeof createQuietLog>;
    let writer: BatchWriter;
    let meter: ReturnType<typeof createUsageMeter>;
    beforeEach(async () => {
      database = await files().connect();
      ({ logger, writer, meter } = createMeter(database));
    });
    afterEach(() => meter.close());

    function createMeter(of: Database, options: { maxRows?: number } = {}) {
      const logger = createQuietLog();
      const writer = createBatchWriter({ access: of.access(), logger, flushEveryMs: 60_000, closeMs: 300 });
      return { logger, writer, meter: createUsageMeter({ access: of.access(), writer, logger, ...options }) };
    }

    it('shows a tenant what was flushed, errors by class, and nothing of another', async () => {
      for (const status of [200, 304, 400, 404, 429, 500, 503]) meter.record({ ...call, status });
      await writer.flush();
      const errors = { errors: 5, errors_client: 2, errors_limited: 1, errors_server: 2 };
      const sums = { calls: 7, ...errors, bytes_in: 21, bytes_out: 35, cpu_ms: 1.8 };
      const rows = [{ day: today, key: 'k1', service: 'text/a', ...sums }];
      expect(await meter.usage('acme')).to.deep.equal({ rows });
      expect(await meter.usage('other')).to.deep.equal({ rows: [] });
    });

    it('sums up what several meters count, past 32 bits', async () => {
      const other = createMeter(await files().connect());
      for (let round = 0; round < 5; round += 1) {
        for (const each of [meter, other.meter]) each.record({ ...call, bytesIn: 2 ** 40 });
        for (const each of [writer, other.writer]) expect(await each.flush()).to.equal(true);
      }
      const [row] = (await meter.usage('acme')).rows;
      expect(row).to.include({ calls: 10, bytes_in: 10 * 2 ** 40 });
      await other.meter.close();
    });

    it('gives pages, newest day first, each row once', async () => {
      for (let age = 0; age < 3; age += 1) {
        for (const name of ['a', 'b', 'ü"\\', '😀']) {
          const [key, service] = [`k-${name < 'c'} ü"`, `text/${name}`];
          meter.record({ ...call, key, service, at: at - age * 86_400_000 });
        }
      }
      await writer.flush();
      const whole = (await meter.usage('acme')).rows;
      const seen: typeof whole = [];
      for (let after: string | undefined = ''; after !== undefined; ) {
        const page = await meter.usage('acme', { limit: 5, ...(after && { after }) });
        seen.push(...page.rows);
        after = page.next;
      }
      expect(seen).to.deep.equal(whole);
      expect(whole).to.have.length(12);
      const days = whole.map((row) => row.day);
      expect(days).to.deep.equal(days.toSorted().reverse());
    });

    it('gives the days from and to, both included', async () => {
      // A day begins at midnight UTC.
      for (const time of ['01T23:59:59.999Z', '02T00:00Z', '03T23:59:59.999Z', '04T00:00Z']) {
        meter.record({ ...call, at: Date.parse(`2030-01-${time}`) });
      }
      await writer.flush();
      const { rows } = await meter.usage('acme', { from: '2030-01-02', to: '2030-01-03' });
      expect(rows.map((row) => row.day)).to.deep.equal(['2030-01-03', '2030-01-02']);
    });

    it('refuses a day that is none, and a limit out of range, naming the field', async () => {
      const cursors = ['', 'x', '!', 'W10', Buffer.from('["a","b",1]').toString('base64url')];
      const days = [{ from: '2025-02-30' }, { to: 'today' }];
      for (const query of [...days, { limit: 0 }, { limit: 5001 }, ...cursors.map((after) => ({ after }))]) {
        const refusal = await meter.usage('acme', query).catch((error) => error);
        expect(refusal.code).to.equal('invalid_input');
        expect(refusal.details[0].field).to.equal(Object.keys(query)[0]);
      }
    });

    it('says that the database does not answer, where it does not', async () => {
      await database.close();
      const refusal = await meter.usage('acme').catch((error) => error);
      expect(refusal).to.include({ name: 'StoreError', code: 'keys_unavailable' });
    });

    it('deletes at the start what is older than the days it keeps', async () => {
      const now = Date.now();
      for (const age of [0, 1, 2, 3]) meter.record({ ...call, at: now - age * 86_400_000 });
      await meter.close();
      await pruneDaily({ access: database.access(), logger, parts: pruneUsage(2) }).close();
      expect((await meter.usage('acme')).rows).to.have.length(2);
    });

    it('writes thousands of rows, at most a thousand in a transaction', async () => {
      const sizes: number[] = [];
      writer.add({
        *drain() {
          // Takes part in each transaction, and sees what the meter has written in it.
          for (let piece = 0; piece < 3; piece += 1) {
            yield {
              async write(trx) {
                const count = sql<{ n: number }>`select count(*) as n from usage_daily`;
                sizes.push(Number((await count.execute(trx)).rows[0]?.n));
              },
            };
          }
        },
      });
      for (let key = 0; key < 2500; key += 1) meter.record({ ...call, key: `k${key}` });
      expect(await writer.flush()).to.equal(true);
      expect(sizes).to.deep.equal([1000, 2000, 2500]);
      expect((await meter.usage('acme', { limit: 5000 })).rows).to.have.length(2500);
    });

    it('says once that rows go uncounted when too many wait', async () => {
      const few = createMeter(database, { maxRows: 2 });
      for (const key of ['a', 'b', 'c', 'd', 'a']) few.meter.record({ ...call, key });
      await few.writer.flush();
      expect(few.logger.lines.filter((line) => line.level === 'error')).to.have.length(1);
      expect((await meter.usage('acme')).rows.map(({ calls }) => calls)).to.deep.equal([2, 1]);
      await few.meter.close();
    });
  }));

describe('tally', () => {
  it('never holds an amount that a database would refuse', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), fc.double(), (bytesIn, bytesOut, cpuMs) => {
        const tally = createTally();
        tally.add({ ...call, bytesIn, bytesOut, cpuMs });
        const sums = tally.rows()[0]?.sums;
        expect(sums?.bytes_in).to.be.at.least(0);
        expect(Number.isInteger(sums?.bytes_out)).to.equal(true);
        expect(Number.isFinite(sums?.cpu_ms)).to.equal(true);
      }),
    );
  });
});
