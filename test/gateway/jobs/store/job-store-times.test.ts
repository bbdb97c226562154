import { join } from 'node:path';
import { expect } from 'chai';
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { createAccess, type DatabaseKind, type NoTables } from '../../../../gateway/database/database.js';
import { sqliteDialect } from '../../../../gateway/database/sqlite.js';
import { openConnection } from '../../../../gateway/database/sqlite-connection.js';
import type { ItemRef } from '../../../../gateway/jobs/model.js';
import type { JobStore } from '../../../../gateway/jobs/store/job-store.js';
import { createJobStore } from '../../../../gateway/jobs/store/job-store.js';
import { onEachDatabase } from '../../databases.js';
import { deliveries, done, openJobStore, storeJob, type TestStore } from './stored-jobs.js';

describe('jobs/store in the course of time', () =>
  onEachDatabase((database) => {
    let store: TestStore;
    beforeEach(async () => {
      store = openJobStore(await database().connect());
    });

    const create = (count: number, job?: Parameters<typeof storeJob>[2]) => storeJob(store, count, job);

    const names = (items: readonly ItemRef[]) => items.map(({ job, index }) => `${job} ${index}`);

    it('gives the queue half of what a tenant may have there, and more when less than that waits', async () => {
      const one = await create(3);
      const other = await create(7);
      const unqueued = () => store.unqueued({ most: 100, ahead: 8, idleMs: 1_000 });
      const first = [{ tenant: 'ten_1', items: [...one.items, ...other.items.slice(0, 1)] }];
      expect(await unqueued()).to.deep.equal(first);
      expect(await unqueued()).to.deep.equal(first);
      await store.queued(first[0]?.items ?? []);
      expect(await unqueued()).to.deep.equal([]);
      await store.start(one.items.slice(0, 1));
      const second = other.items.slice(1, 5);
      expect(await unqueued()).to.deep.equal([{ tenant: 'ten_1', items: second }]);
      await store.queued(second);
      await store.finish(one.items.map((item) => done(item)));
      expect(await unqueued()).to.deep.equal([]);
      await store.start(other.items.slice(0, 2));
      expect(await unqueued()).to.deep.equal([{ tenant: 'ten_1', items: other.items.slice(5) }]);
    });

    it('gives the queue first what is of the tenant with the fewest items there, whoever came first', async () => {
      const many = await create(100);
      await store.queued(many.items.slice(0, 3));
      const few = await create(1, { tenant_id: 'ten_2' });
      const given = await store.unqueued({ most: 10, ahead: 20, idleMs: 1_000 });
      expect(given).to.deep.equal([
        { tenant: 'ten_2', items: few.items },
        { tenant: 'ten_1', items: many.items.slice(3, 12) },
      ]);
    });

    it('gives again what the queue has lost, once nothing has moved for a while', async () => {
      const one = await create(3);
      const behind = await create(3);
      const unqueued = async () => {
        const given = await store.unqueued({ most: 10, ahead: 10, idleMs: 1_000 });
        return names(given.flatMap(({ items }) => items));
      };
      await store.queued([...one.items, ...behind.items.slice(0, 2)]);
      const [first = { job: '', index: 0 }] = one.items;
      store.clock.now += 900;
      await store.start([first]);
      await store.finish([done(first)]);
      const last = names(behind.items.slice(2));
      store.clock.now += 900;
      expect(await unqueued()).to.deep.equal(last);
      store.clock.now += 200;
      // What the queue has of the job behind it waits its turn.
      expect(await unqueued()).to.deep.equal([...names(one.items.slice(1)), ...last]);
      await store.queued(one.items);
      expect(await unqueued()).to.deep.equal(last);
      await store.finish(one.items.map((item) => done(item)));
      store.clock.now += 1_100;
      expect(await unqueued()).to.deep.equal(names(behind.items));
    });

    it('gives again what the queue has lost of a job behind one of which it was given nothing', async () => {
      const older = await create(1);
      const younger = await create(2);
      await store.queued(younger.items);
      store.clock.now += 1_100;
      const given = await store.unqueued({ most: 10, ahead: 10, idleMs: 1_000 });
      expect(given).to.deep.equal([{ tenant: 'ten_1', items: [...older.items, ...younger.items] }]);
    });

    it('says what was cancelled of what the queue has, and what of it had ended when it was handed over', async () => {
      const { id, items } = await create(4);
      expect(await store.queued(items.slice(0, 3))).to.deep.equal([]);
      await store.start(items.slice(0, 1));
      expect(await store.cancelled(id)).to.deep.equal([]);
      await store.cancel('ten_1', id);
      expect(await store.cancelled(id)).to.deep.equal(items.slice(1, 3));
      expect(await store.queued(items)).to.deep.equal(items.slice(1));
    });

    it('cancels what waits and lets what runs end, which ends the job', async () => {
      const { id, items } = await create(3, { webhook_url: 'https://a.example/' });
      const [running = { job: '', index: 0 }] = items;
      await store.start([running]);
      expect(await store.cancel('ten_2', id)).to.equal(undefined);
      const job = await store.cancel('ten_1', id);
      expect(job).to.include({ cancelled: 2, cancelled_at: store.clock.now, finished_at: null });
      expect(await store.start(items.slice(1))).to.deep.equal([]);
      expect(await store.cancel('ten_1', id)).to.deep.equal(job);
      expect((await store.finish([done(running)])).jobs).to.have.length(1);
      expect((await deliveries(store)).map(({ payload }) => payload.type)).to.deep.equal(['job.cancelled']);
    });

    it('ends a job at once where nothing of it runs', async () => {
      const { id } = await create(2, { webhook_url: 'https://a.example/' });
      expect(await store.cancel('ten_1', id)).to.include({ cancelled: 2, finished_at: store.clock.now });
      expect(await deliveries(store)).to.have.length(1);
    });

    it('cancels what comes back after its job was called off', async () => {
      const { id, items } = await create(1);
      const started = await store.start(items);
      await store.cancel('ten_1', id);
      await store.handBack(started);
      expect(await store.start(items)).to.deep.equal([]);
      expect(await store.job('ten_1', id)).to.include({ cancelled: 1, finished_at: store.clock.now });
    });

    it('tells of jobs that ended long ago, and forgets them', async () => {
      const [old, young, open] = [await create(1), await create(1), await create(1)];
      await store.finish(old.items.map((item) => done(item)));
      store.clock.now += 1_000;
      await store.finish(young.items.map((item) => done(item)));
      expect(await store.expired(store.clock.now, { most: 9 })).to.deep.equal([
        { id: old.id, tenant_id: 'ten_1' },
      ]);
      expect(await store.expired(store.clock.now, { most: 9, skip: 1 })).to.deep.equal([]);
      await Promise.all([store.remove(old.id), store.remove(old.id)]);
      expect(await store.job('ten_1', old.id)).to.equal(undefined);
      expect(await store.known([old.id, young.id, 'job_none'])).to.deep.equal([young.id]);
      expect((await store.items(old.id, { limit: 1 })).rows).to.deep.equal([]);
      expect((await store.finish(old.items.map((item) => done(item)))).jobs).to.deep.equal([]);
      expect(await store.expired(store.clock.now, { most: 9 })).to.deep.equal([]);
      expect(await store.job('ten_1', open.id)).to.include({ total: 1 });
    });

    it('takes a job of many items, slice by slice', async () => {
      const count = Number(process.env.TEST_JOB_ITEMS ?? 2_500);
      const { id, items } = await create(count);
      expect(await store.stats()).to.deep.equal({
        ...{ waiting: count, running: 0, oldestWaitingAt: store.clock.now },
      });
      await store.queued(items);
      expect(await store.start(items)).to.have.length(count);
      expect((await store.finish(items.map((item) => done(item)))).jobs).to.have.length(1);
      await store.remove(id);
      expect(await store.item({ job: id, index: count - 1 })).to.equal(undefined);
    });
  }));

/** What every process asks again and again, or at each request for a job, and the index by which PostgreSQL and SQLite find it. */
const looks: Record<string, { ask: (store: JobStore) => Promise<unknown>; by: string[] }> = {
  'items for the queue': {
    ask: (store) => store.unqueued({ most: 500, ahead: 500, idleMs: 1_000 }),
    by: ['jobs_open'],
  },
  'tenants with open jobs': { ask: (store) => store.openTenants(), by: ['jobs_open'] },
  'figures for the metrics': { ask: (store) => store.stats(), by: ['jobs_open'] },
  'jobs that are to be forgotten': { ask: (store) => store.expired(5, { most: 20 }), by: ['jobs_ended'] },
  'jobs with inputs that are to be removed': { ask: (store) => store.uncleared(20), by: ['jobs_holding'] },
  'what a tenant’s jobs hold': { ask: (store) => store.held('ten_1'), by: ['jobs_holding'] },
};

const columns =
  'id, tenant_id, key_id, service, bytes, created_at, moved_at, finished_at, total, unqueued, started, running, done, failed, cancelled';
const values = `'ten_' || (x % 50), 'k', 's', 0, 1, 1, 1000 + x, 1, 0, 1, 0, 1, 0, 0`;
/** Makes 20,000 jobs that have ended. */
const seed = {
  sqlite: `with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
    insert into jobs (${columns}) select 'job_' || x, ${values} from c`,
  postgres: `insert into jobs (${columns}) select 'job_' || x, ${values} from generate_series(1, 20000) as c(x)`,
};

describe('jobs/store, with many jobs that are kept', () =>
  onEachDatabase(
    (files) => {
      for (const [what, { ask, by }] of Object.entries(looks)) {
        it(`finds ${what} without looking at the others`, async () => {
          const { kind, location, connect } = files();
          await connect();
          const asked: CompiledQuery[] = [];
          const db = new Kysely<NoTables>({
            dialect:
              kind === 'sqlite'
                ? sqliteDialect(openConnection(join(location, 'gateway.db')))
                : new PostgresDialect({ pool: new pg.Pool({ connectionString: location }) }),
            log: ({ query }) => void asked.push(query),
          });
          try {
            await sql.raw(seed[kind]).execute(db);
            // As PostgreSQL does by itself, a minute later.
            if (kind === 'postgres') await sql`analyze jobs`.execute(db);
            const store = createJobStore(createAccess(db, kind)());
            await storeJob(store, 1);
            asked.length = 0;
            await ask(store);
            const own = asked.filter((query) => query.sql.includes('"jobs"'));
            const found = new Set<string>();
            for (const query of own) for (const index of await indexesOf(db, kind, query)) found.add(index);
            found.delete('the key');
            expect([...found]).to.deep.equal(by);
          } finally {
            await db.destroy();
          }
        });
      }
    },
    { ownThread: false },
  ));

/** By which indexes a query would read the jobs. */
async function indexesOf(
  db: Kysely<NoTables>,
  kind: DatabaseKind,
  { sql: text, parameters, query, queryId }: CompiledQuery,
): Promise<string[]> {
  const explain = kind === 'sqlite' ? 'explain query plan' : 'explain';
  const asked = { sql: `${explain} ${text}`, parameters, query, queryId };
  const { rows } = await db.executeQuery<{ detail?: string; 'QUERY PLAN'?: string }>(asked);
  return rows.flatMap((row) => {
    const line = row.detail ?? row['QUERY PLAN'] ?? '';
    if (!/(?:SCAN|SEARCH) jobs\b|Seq Scan on jobs\b|Index (?:Only )?Scan/.test(line)) return [];
    const index = /(?:INDEX|Scan using|Index Scan on) (\w+)/.exec(line)?.[1] ?? 'none';
    return /autoindex|pkey/.test(index) ? ['the key'] : [index];
  });
}
