import { expect } from 'chai';
import type { Access, Database } from '../../../gateway/database/database.js';
import { createTally } from '../../../gateway/usage/meter.js';
import {
  addUsageRows,
  compareUsageRows,
  repairRollup,
  type UsageRecord,
  type UsageTables,
} from '../../../gateway/usage/store.js';
import { createSumsInput, readSums } from '../../../gateway/usage/sums.js';
import { onEachDatabase } from '../databases.js';

const at = Date.parse('2030-03-10T12:00Z');
const dayMs = 86_400_000;
const outcome = { status: 200, code: 'ok', ms: 10, requestId: 'r' };
const call: UsageRecord = {
  ...{ tenant: 'ten_a', key: 'key_1', service: 'text/a', ...outcome },
  ...{ bytesIn: 1, bytesOut: 10, cpuMs: 2, at },
};
const failed = { status: 503, code: 'busy', ms: 1000, bytesOut: 0, cpuMs: 0 };
const limited = { ...failed, status: 429, code: 'rate_limited' };

describe('usage/sums', () =>
  onEachDatabase((files) => {
    let database: Database;
    let access: Access<UsageTables>;
    beforeEach(async () => {
      database = await files().connect();
      access = database.access();
    });

    async function record(...calls: Partial<UsageRecord>[]): Promise<void> {
      const tally = createTally();
      for (const changes of calls) tally.add({ ...call, ...changes });
      const rows = tally.rows().sort(compareUsageRows);
      await access.change((trx) => addUsageRows(trx, access.kind, rows));
    }
    const sums = (query: object = {}) => readSums(access, createSumsInput().check(query).value, at);
    /** Of each row what it is about and the calls. */
    async function calls(query: object) {
      return (await sums(query)).map(
        ({
          calls,
          errors: _,
          bytes_in: _in,
          bytes_out: _out,
          cpu_ms: _cpu,
          p50_ms: _50,
          p95_ms: _95,
          ...names
        }) => [...Object.values(names), calls],
      );
    }

    it('adds calls up by each dimension and by two of them', async () => {
      await record(
        {},
        { key: 'key_2' },
        { service: 'text/b' },
        { tenant: 'ten_b', key: 'key_3', at: at - dayMs },
      );
      await record({}, failed);
      for (const [by, rows] of Object.entries({
        day: [
          ['2030-03-10', 5],
          ['2030-03-09', 1],
        ],
        tenant: [
          ['ten_a', 5],
          ['ten_b', 1],
        ],
        key: [
          ['key_1', 4],
          ['key_2', 1],
          ['key_3', 1],
        ],
        service: [
          ['text/a', 5],
          ['text/b', 1],
        ],
        'tenant,service': [
          ['ten_a', 'text/a', 4],
          ['ten_a', 'text/b', 1],
          ['ten_b', 'text/a', 1],
        ],
      }))
        expect(await calls({ by }), by).to.deep.equal(rows);
      expect(await calls({ by: '' })).to.deep.equal([[6]]);
      expect(await calls({ by: 'day', tenantId: 'ten_b' })).to.deep.equal([
        ['2030-03-10', 5],
        ['2030-03-09', 1],
      ]);
      expect(await calls({ by: 'key', service: 'text/b' })).to.deep.equal([['key_1', 1]]);
      expect(await calls({ by: 'service', key: 'key_2' })).to.deep.equal([['text/a', 1]]);
      expect(await calls({ by: 'day', to: '2030-03-09' })).to.deep.equal([['2030-03-09', 1]]);
      expect(await calls({ by: 'day', from: '2031-01-01', to: '2031-01-02' })).to.deep.equal([]);
    });

    it('gives every figure by outcome and by code, for all tenants and for one', async () => {
      await record({}, {}, {}, failed, limited, { tenant: 'ten_b', ...limited });
      for (const [tenantId, refused] of [
        [undefined, 2],
        ['ten_a', 1],
      ] as const) {
        const read = (by: string) => readSums(access, { by, tenantId }, at);
        const [limit, broken, ok] = await read('outcome');
        expect(limit).to.include({ outcome: '429', calls: refused, errors: refused, cpu_ms: 0 });
        expect(broken).to.include({ outcome: '5xx', calls: 1, errors: 1, bytes_in: 1, bytes_out: 0 });
        expect(ok).to.include({ outcome: 'ok', calls: 3, errors: 0, bytes_in: 3, bytes_out: 30, cpu_ms: 6 });
        expect(ok?.p95_ms).to.be.within(6, 11);
        expect(broken?.p50_ms).to.be.within(600, 1100);
        expect((await read('code')).map(({ code, calls }) => [code, calls])).to.deep.equal([
          ['busy', 1],
          ['ok', 3],
          ['rate_limited', refused],
        ]);
        expect((await read('service,outcome')).map((row) => [row.service, row.outcome])).to.deep.equal([
          ['text/a', '429'],
          ['text/a', '5xx'],
          ['text/a', 'ok'],
        ]);
      }
      expect(await calls({ by: 'key,code', from: '2030-03-01' })).to.deep.equal([
        ['key_1', 'busy', 1],
        ['key_1', 'ok', 3],
        ['key_1', 'rate_limited', 2],
      ]);
    });

    it('counts a code by the status of each call: one whose client went away is 499', async () => {
      await record(
        {},
        failed,
        failed,
        limited,
        limited,
        { ...failed, status: 499 },
        { ...limited, status: 499 },
      );
      expect(await calls({ by: 'outcome' })).to.deep.equal([
        ['429', 2],
        ['4xx', 2],
        ['5xx', 2],
        ['ok', 1],
      ]);
      expect(await calls({ by: 'outcome,code', tenantId: 'ten_a' })).to.deep.equal([
        ['429', 'rate_limited', 2],
        ['4xx', 'busy', 1],
        ['4xx', 'rate_limited', 1],
        ['5xx', 'busy', 2],
        ['ok', 'ok', 1],
      ]);
      const rows = await sums({ by: 'outcome,code' });
      expect(rows.map(({ bytes_in }) => bytes_in).reduce((a, b) => a + b)).to.equal(7);
      expect(await calls({ by: 'code' })).to.deep.equal([
        ['busy', 3],
        ['ok', 1],
        ['rate_limited', 3],
      ]);
    });

    it('says of errors that an older gateway counted that their code is not known', async () => {
      await record({}, failed);
      const older = { day: '2030-03-08', tenant: 'ten_a', key_id: 'key_1', service: 'text/a', calls: 5 };
      const errors = { errors_client: 2, errors_limited: 0, errors_server: 1 };
      const row = { ...older, ...errors, bytes_in: 0, bytes_out: 0, cpu_ms: 0 };
      await access.change((trx) => trx.insertInto('usage_daily').values(row).execute());
      await database.access().change((trx) => repairRollup(trx, at, 1000));
      for (const query of [{ by: 'code' }, { by: 'code', key: 'key_1' }])
        expect(await calls(query)).to.deep.equal([
          ['busy', 1],
          ['ok', 3],
          ['unknown_4xx', 2],
          ['unknown_5xx', 1],
        ]);
      const [, before] = await sums({ by: 'day' });
      expect(before).to.include({ day: '2030-03-08', calls: 5, errors: 3, p50_ms: null });
    });

    it('makes a rollup again that is equal to the one that was written', async () => {
      await record({}, failed, { key: 'key_2', service: 'text/b', ms: 70 }, { tenant: 'ten_b' });
      const rollup = () =>
        access.run((db) =>
          db.selectFrom('usage_rollup').selectAll().orderBy('tenant').orderBy('service').execute(),
        );
      const written = await rollup();
      await database.access().change((trx) => repairRollup(trx, at + 2 * dayMs, 1000));
      expect(await rollup()).to.deep.equal(written);
      await access.change((trx) => trx.deleteFrom('usage_rollup').execute());
      await database.access().change((trx) => repairRollup(trx, at + 2 * dayMs, 1000));
      expect(await rollup()).to.deep.equal(written);
    });

    it('answers no sums of which a part was left out', async () => {
      const codes = Array.from({ length: 201 }, (_, n) => ({ ...failed, code: `code_${n}` }));
      const keys = Array.from({ length: 101 }, (_, n) => `key_${n}`);
      await record(...keys.flatMap((key) => codes.map((code) => ({ key, ...code }))));
      const refusal = await sums({ by: 'key,outcome' }).catch((error) => error);
      expect(refusal.details?.[0].field).to.equal('by');
      expect((await sums({ by: 'key,outcome', key: 'key_7' }))[0]).to.include({ calls: 201, bytes_in: 201 });
    });

    it('refuses what it cannot mean, and spans that are too long for all tenants', async () => {
      const input = createSumsInput();
      for (const by of ['keys', 'day,', 'day,key,code', 'day key'])
        expect(input.check({ by }).problems[0]?.field, by).to.equal('by');
      const refused = (query: object) =>
        sums(query).then(
          () => undefined,
          ({ code, details }) => [code, details[0].field],
        );
      expect(await refused({ by: 'day,day' })).to.deep.equal(['invalid_input', 'by']);
      const long = { from: '2030-01-01', to: '2030-03-01' };
      for (const by of ['key', 'tenant,code']) {
        expect(await refused({ by, ...long }), by).to.deep.equal(['invalid_input', 'from']);
        expect(await refused({ by, to: '2030-03-01' })).to.equal(undefined);
      }
      expect(await refused({ by: 'day', key: 'key_1', ...long })).to.deep.equal(['invalid_input', 'from']);
      for (const by of ['tenant', 'code', 'day,service'])
        expect(await refused({ by, ...long }), by).to.equal(undefined);
    });
  }));
