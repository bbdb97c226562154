import { expect } from 'chai';
import { sql } from 'kysely';
import { type BatchWriter, createBatchWriter } from '../../../gateway/database/batch-writer.js';
import type { Access, Database } from '../../../gateway/database/database.js';
import { createUsageMeter, type UsageMeter } from '../../../gateway/usage/meter.js';
import {
  createRequestInput,
  pruneRequests,
  type RequestTables,
  readRequests,
} from '../../../gateway/usage/requests.js';
import { createSumsInput } from '../../../gateway/usage/sums.js';
import { onEachDatabase } from '../databases.js';
import { createQuietLog } from './quiet.js';

const now = 1_900_000_000_000;
const call = { tenant: 'acme', key: 'key_1', service: 'text/a', status: 200, code: 'ok', ms: 12.34 };
const input = createRequestInput();

describe('usage/requests', () =>
  onEachDatabase((files) => {
    let database: Database;
    let access: Access<RequestTables>;
    let writer: BatchWriter;
    let meter: UsageMeter;
    beforeEach(async () => {
      database = await files().connect();
      access = database.access();
      open(100);
    });
    afterEach(() => meter.close());

    function open(most: number): void {
      const logger = createQuietLog();
      writer = createBatchWriter({ access: database.access(), logger, flushEveryMs: 60_000, closeMs: 300 });
      const requests = { most, ttlSeconds: 3600 };
      meter = createUsageMeter({ access: database.access(), writer, logger, requests });
    }

    function record(requestId: string, changes: Partial<Parameters<UsageMeter['record']>[0]> = {}): void {
      const bytes = { bytesIn: 1, bytesOut: 1, cpuMs: 1 };
      meter.record({ ...call, ...bytes, requestId, at: now, ...changes });
    }

    async function read(query: object = {}, tenant: string | undefined = 'acme') {
      const { value } = input.check(query);
      const page = await readRequests(access, { ttlSeconds: 3600, now }, tenant, value);
      return { ...page, ids: page.rows.map(({ request_id }) => request_id) };
    }
    const count = async () =>
      Number(
        (await access.run((db) => sql<{ n: number }>`select count(*) as n from requests`.execute(db))).rows[0]
          ?.n,
      );

    it('gives the last calls of a tenant, newest first, and nothing of another', async () => {
      record('a', { at: now - 2 });
      record('b', { at: now - 1, status: 429, code: 'rate_limited', dryrun: true });
      record('c', { tenant: 'globex' });
      await writer.flush();
      const { rows } = await read();
      expect(rows).to.deep.equal([
        {
          ...{ tenant: 'acme', at: now - 1, request_id: 'b', key_id: 'key_1', service: 'text/a' },
          ...{ status: 429, code: 'rate_limited', ms: 12.3, dryrun: 1 },
        },
        {
          ...{ tenant: 'acme', at: now - 2, request_id: 'a', key_id: 'key_1', service: 'text/a' },
          ...{ status: 200, code: 'ok', ms: 12.3, dryrun: 0 },
        },
      ]);
    });

    it('chooses by key, helper, status or its class, code, id and time', async () => {
      record('old', { at: now - 60_000 });
      record('other', { key: 'key_2', service: 'media/b' });
      record('bad', { status: 404, code: 'not_found' });
      record('c', { tenant: 'globex' });
      await writer.flush();
      for (const [query, ids] of [
        [{ key: 'key_2' }, ['other']],
        [{ service: 'media/b' }, ['other']],
        [{ status: '4xx' }, ['bad']],
        [{ status: '404' }, ['bad']],
        [{ status: '5xx' }, []],
        [{ code: 'not_found' }, ['bad']],
        [{ request_id: 'old' }, ['old']],
        [{ to: new Date(now - 1).toISOString() }, ['old']],
        [{ from: new Date(now).toISOString(), code: 'ok' }, ['other']],
      ] as const)
        expect((await read(query)).ids, JSON.stringify(query)).to.deep.equal(ids);
      expect(
        (await readRequests(access, { ttlSeconds: 3600, now }, undefined, { limit: 9 })).rows,
      ).to.have.length(4);
    });

    it('leads forward and back, each call once', async () => {
      for (let n = 0; n < 5; n += 1) record(`r${n}`, { at: now + Math.floor(n / 2) });
      await writer.flush();
      const first = await read({ limit: 2 });
      expect([first.ids, first.previous]).to.deep.equal([['r4', 'r3'], null]);
      const second = await read({ limit: 2, after: first.next });
      const last = await read({ limit: 2, after: second.next });
      expect([second.ids, last.ids, last.next]).to.deep.equal([['r2', 'r1'], ['r0'], null]);
      const back = await read({ limit: 2, before: last.previous });
      expect([back.ids, back.next]).to.deep.equal([second.ids, second.next]);
      const start = await read({ limit: 2, before: back.previous });
      expect([start.ids, start.previous]).to.deep.equal([first.ids, null]);
      for (const query of [{ after: 'x' }, { before: '1' }])
        expect((await read(query).catch((error) => error)).code).to.equal('invalid_input');
    });

    it('refuses texts that no database can hold', () => {
      for (const name of ['service', 'code', 'request_id'])
        expect(input.check({ [name]: 'a\0b' }).problems[0]?.field).to.equal(name);
      expect(createSumsInput().check({ service: 'a\0b' }).problems[0]?.field).to.equal('service');
    });

    it('holds as many of a tenant as it may, in memory and in the database', async () => {
      for (let round = 0; round < 5; round += 1) {
        for (let n = 0; n < 150; n += 1) record(`${round}-${n}`, { at: now + round * 1000 + n });
        await writer.flush();
      }
      expect(await count()).to.equal(100);
      expect((await read({ limit: 1 })).ids).to.deep.equal(['4-149']);
    });

    it('holds the newest of every tenant while the database is away, and not without end', async () => {
      for (let n = 0; n < 20_000; n += 1) record(`busy-${n}`, { tenant: `busy-${n % 50}`, at: now + n });
      record('rare', { tenant: 'rare' });
      record('last', { tenant: 'busy-1', at: now + 30_000 });
      await writer.flush();
      expect(await count()).to.be.within(1_000, 4_001);
      expect((await read({}, 'rare')).ids).to.deep.equal(['rare']);
      expect((await read({}, 'busy-1')).ids[0]).to.equal('last');
    });

    it('stores none where none are wanted', async () => {
      open(0);
      record('a');
      await writer.flush();
      expect(await count()).to.equal(0);
    });

    it('shows none that is too old, and deletes it', async () => {
      record('old', { at: now - 3_600_001 });
      record('new');
      await writer.flush();
      expect((await read()).ids).to.deep.equal(['new']);
      const prune = pruneRequests({ most: 1, ttlSeconds: 3600 });
      expect(await database.access().change((trx) => prune(trx, now, 1000))).to.equal(1);
      expect(await count()).to.equal(1);
    });
  }));
