import { expect } from 'chai';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createBatchWriter } from '../../../gateway/database/batch-writer.js';
import type { Database } from '../../../gateway/database/database.js';
import { pruneDaily } from '../../../gateway/database/prune-daily.js';
import { createTally, createUsageMeter, type UsageRecord } from '../../../gateway/usage/meter.js';
import { formatUsageCursor, parseUsageCursor } from '../../../gateway/usage/report.js';
import { dayOf, pruneUsage } from '../../../gateway/usage/store.js';
import { onEachDatabase } from '../databases.js';
import { createQuietLog } from './quiet.js';

{
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

  function createMeter(database: Database, options: { maxRows?: number } = {}) {
    const logger = createQuietLog();
    const access = database.access();
    const writer = createBatchWriter({ access, logger, flushEveryMs: 60_000, closeMs: 300 });
    const meter = createUsageMeter({ access: database.access(), writer, logger, ...options });
    return { logger, writer, meter };
  }

  describe('usage', () =>
    onEachDatabase((files) => {
      let database: Database;
      beforeEach(async () => {
        database = await files().connect();
      });

      it('shows what was flushed, errors by class', async () => {
        const { meter, writer } = createMeter(database);
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
        const { meter, writer } = createMeter(database);
        meter.record(call);
        await writer.flush();
        expect(await meter.usage('other')).to.deep.equal({ rows: [] });
        await meter.close();
      });

      it('sums up what several meters count', async () => {
        const meters = [createMeter(database), createMeter(await files().connect())];
        for (let round = 0; round < 5; round += 1) {
          for (const { meter } of meters) meter.record(call);
          for (const { writer } of meters) expect(await writer.flush()).to.equal(true);
        }
        const rows = await meters[0]?.meter.usage('acme');
        expect(rows?.rows.map((row) => row.calls)).to.deep.equal([10]);
        for (const { meter } of meters) await meter.close();
      });

      it('loses nothing at close', async () => {
        const { meter, writer } = createMeter(database);
        meter.record(call);
        await meter.close();
        await writer.close();
        expect((await meter.usage('acme')).rows).to.have.length(1);
      });

      it('counts sums past 32 bits', async () => {
        const { meter, writer } = createMeter(database);
        for (let round = 0; round < 2; round += 1) {
          meter.record({ ...call, bytesIn: 2 ** 40 });
          await writer.flush();
        }
        expect((await meter.usage('acme')).rows[0]?.bytes_in).to.equal(2 ** 41);
        await meter.close();
      });

      it('gives pages, newest day first, each row once', async () => {
        const { meter, writer } = createMeter(database);
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
        const { meter, writer } = createMeter(database);
        for (const day of ['2030-01-01', '2030-01-02', '2030-01-03', '2030-01-04']) {
          meter.record({ ...call, at: Date.parse(day) });
        }
        await writer.flush();
        const { rows } = await meter.usage('acme', { from: '2030-01-02', to: '2030-01-03' });
        expect(rows.map((row) => row.day)).to.deep.equal(['2030-01-03', '2030-01-02']);
        await meter.close();
      });

      it('refuses a day that is none, and a limit out of range, naming the field', async () => {
        const { meter } = createMeter(database);
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

      it('says that the database does not answer, where it does not', async () => {
        const { meter } = createMeter(database);
        await database.close();
        const refusal = await meter.usage('acme').catch((error) => error);
        expect(refusal).to.include({ name: 'StoreError', code: 'keys_unavailable' });
      });

      it('deletes at the start what is older than the days it keeps', async () => {
        const { meter, logger } = createMeter(database);
        const now = Date.now();
        for (const age of [0, 1, 2, 3]) meter.record({ ...call, at: now - age * 86_400_000 });
        await meter.close();
        await pruneDaily({ access: database.access(), logger, parts: [pruneUsage(2)] }).close();
        expect((await meter.usage('acme')).rows).to.have.length(2);
      });

      it('writes thousands of rows, at most a thousand in a transaction', async () => {
        const { meter, writer } = createMeter(database);
        const sizes: number[] = [];
        writer.add({
          *drain() {
            // Takes part in each transaction, and sees what the meter has written in it.
            for (let piece = 0; piece < 3; piece += 1) {
              yield {
                async write(trx) {
                  const { rows } = await sql<{ n: number }>`select count(*) as n from usage_daily`.execute(
                    trx,
                  );
                  sizes.push(Number(rows[0]?.n));
                },
              };
            }
          },
        });
        for (let key = 0; key < 2500; key += 1) meter.record({ ...call, key: `k${key}` });
        expect(await writer.flush()).to.equal(true);
        expect(sizes).to.deep.equal([1000, 2000, 2500]);
        expect((await meter.usage('acme', { limit: 5000 })).rows).to.have.length(2500);
        await meter.close();
      });

      it('says once that rows go uncounted when too many wait', async () => {
        const { meter, logger, writer } = createMeter(database, { maxRows: 2 });
        for (const key of ['a', 'b', 'c', 'd']) meter.record({ ...call, key });
        await writer.flush();
        expect(logger.lines.filter((line) => line.level === 'error')).to.have.length(1);
        expect((await meter.usage('acme')).rows).to.have.length(2);
        await meter.close();
      });
    }));
}

describe('tally', () => {
  const call: UsageRecord = {
    tenant: 't',
    key: 'k',
    service: 'text/a',
    status: 200,
    bytesIn: 10,
    bytesOut: 20,
    cpuMs: 1.5,
    at: Date.UTC(2025, 0, 31, 23, 59, 59, 999),
  };

  it('sums the calls of one day, key and helper', () => {
    const tally = createTally();
    tally.add(call);
    tally.add(call);
    expect(tally.rows()).to.deep.equal([
      {
        tenant: 't',
        day: '2025-01-31',
        key_id: 'k',
        service: 'text/a',
        calls: 2,
        errors_client: 0,
        errors_limited: 0,
        errors_server: 0,
        bytes_in: 20,
        bytes_out: 40,
        cpu_ms: 3,
      },
    ]);
  });

  it('starts a row at midnight UTC', () => {
    const tally = createTally();
    tally.add(call);
    tally.add({ ...call, at: (call.at ?? 0) + 1 });
    expect(tally.rows().map((row) => row.day)).to.deep.equal(['2025-01-31', '2025-02-01']);
  });

  it('tells refusals by a limit from other client errors and from server errors', () => {
    const tally = createTally();
    for (const status of [200, 304, 400, 404, 429, 500, 503]) tally.add({ ...call, status });
    const [row] = tally.rows();
    expect(row).to.include({ calls: 7, errors_client: 2, errors_limited: 1, errors_server: 2 });
  });

  it('never holds an amount that a database would refuse', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), fc.double(), (bytesIn, bytesOut, cpuMs) => {
        const tally = createTally();
        tally.add({ ...call, bytesIn, bytesOut, cpuMs });
        const [row] = tally.rows();
        expect(row?.bytes_in).to.be.at.least(0);
        expect(Number.isInteger(row?.bytes_out)).to.equal(true);
        expect(Number.isFinite(row?.cpu_ms)).to.equal(true);
      }),
    );
  });

  it('takes no further rows past its limit, but goes on counting on those it has', () => {
    const tally = createTally(1);
    expect(tally.add(call)).to.equal(true);
    expect(tally.add({ ...call, key: 'other' })).to.equal(false);
    expect(tally.add(call)).to.equal(true);
    expect(tally.size()).to.equal(1);
  });

  it('names days in UTC', () => {
    expect(dayOf(0)).to.equal('1970-01-01');
  });
});

describe('usage cursor', () => {
  it('reads back what it wrote', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((part) => !part.includes('\0'));
    fc.assert(
      fc.property(text, text, text, (day, key, service) => {
        expect(parseUsageCursor(formatUsageCursor({ day, key, service }))).to.deep.equal({
          day,
          key,
          service,
        });
      }),
    );
  });

  it('refuses anything else as invalid input', () => {
    for (const text of ['', 'x', 'W10', Buffer.from('["a","b",1]').toString('base64url')]) {
      expect(() => parseUsageCursor(text))
        .to.throw()
        .with.property('code', 'invalid_input');
    }
  });
});
