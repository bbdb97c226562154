import { join } from 'node:path';
import { expect } from 'chai';
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import {
  createAccess,
  type Database,
  type DatabaseKind,
  type NoTables,
} from '../../../../gateway/database/database.js';
import { sqliteDialect } from '../../../../gateway/database/sqlite.js';
import { openConnection } from '../../../../gateway/database/sqlite-connection.js';
import {
  createJobId,
  type ItemInput,
  type ItemRef,
  type JobState,
  jobState,
} from '../../../../gateway/jobs/model.js';
import { createJobStore, type JobStore } from '../../../../gateway/jobs/store/job-store.js';
import { newKey, newTenant } from '../../../../gateway/keys/model.js';
import { createKeyStore } from '../../../../gateway/keys/store.js';
import { onEachDatabase } from '../../databases.js';
import {
  counted,
  deliveries,
  done,
  failed,
  inputs,
  newJob,
  openJobStore,
  refs,
  storeJob,
  type TestStore,
} from './stored-jobs.js';

describe('jobs/store', () =>
  onEachDatabase((database) => {
    let store: TestStore;
    let opened: Database;
    beforeEach(async () => {
      opened = await database().connect();
      store = openJobStore(opened);
    });

    const create = (count: number, job?: Parameters<typeof storeJob>[2]) => storeJob(store, count, job);
    const finish = (items: readonly ItemRef[]) => store.finish(items.map((item) => done(item)));

    it('makes a job with its items, which one tenant has', async () => {
      const job = newJob();
      const created = await store.create(job, inputs(3));
      const expected = {
        ...{ ...job, bytes: 0 },
        ...{ created_at: store.clock.now, cancelled_at: null, finished_at: null },
        ...{ total: 3, started: 0, done: 0, failed: 0, cancelled: 0 },
      };
      expect(created).to.deep.equal({ outcome: 'created', job: expected, isNext: true });
      expect(await store.job('ten_1', job.id)).to.deep.equal(expected);
      expect(await store.job('ten_2', job.id)).to.equal(undefined);
      expect(await store.cancel('ten_2', job.id)).to.equal(undefined);
      const last = { job: job.id, index: 2 };
      expect(await store.item(last)).to.deep.equal({ ...last, state: 'waiting' });
      expect(await store.item({ job: job.id, index: 3 })).to.equal(undefined);
      expect(await store.start([last, { job: 'job_none', index: 0 }])).to.deep.equal([
        {
          ...{ ...last, attempt: 1, created_at: store.clock.now, done: 0 },
          of: { tenant_id: 'ten_1', key_id: 'key_1', service: 'text/remove-stopwords' },
          input: { json: '{"text":"2"}', files: [] },
        },
      ]);
    });

    it('knows what inputs hold until their jobs have ended and their files are removed', async () => {
      const held = async (tenant = 'ten_1') => (await store.held(tenant)).inputs;
      const large = await create(1, { bytes: 3_000_000_000 });
      const { id, items } = await create(1, { bytes: 9, files: true });
      expect([await held(), await held('ten_none')]).to.deep.equal([3_000_000_009, 0]);
      await store.cancel('ten_1', large.id);
      await store.cleared(id);
      expect(await held()).to.equal(9);
      await finish(items);
      expect([await held(), await store.uncleared(10)]).to.deep.equal([9, [id]]);
      await store.cleared(id);
      expect([await held(), await store.uncleared(10)]).to.deep.equal([0, []]);
    });

    it('counts what results and errors hold until their job is forgotten', async () => {
      const held = async () => (await store.held('ten_1')).results;
      const [one, two] = [await create(3), await create(1)];
      await finish([...one.items.slice(0, 2), ...two.items]);
      const error = failed(one.items[2] as ItemRef);
      await store.finish([error, done(one.items[0] as ItemRef)]);
      const { state, ...stored } = error.end;
      expect(await held()).to.equal(6 + JSON.stringify(stored).length);
      await Promise.all([store.remove(one.id), store.remove(one.id)]);
      expect(await held()).to.equal(2);
      await store.remove(two.id);
      expect(await held()).to.equal(0);
      const { rows } = await store.access.run((db) => sql`select * from job_tenants`.execute(db));
      expect(rows).to.deep.equal([]);
    });

    it('hands out no item of a suspended tenant, a paused key or a deleted tenant', async () => {
      const keys = createKeyStore(opened.access());
      await keys.change(async (tx) => {
        for (const n of [1, 2, 3])
          await tx.addTenant({ ...newTenant, id: `ten_${n}`, name: `t${n}`, created_at: 1 });
        for (const id of ['key_1', 'key_2'])
          await tx.addKey({
            ...newKey,
            ...{ label: null, scopes: null, expires_at: null },
            id,
            tenant_id: 'ten_1',
            created_at: 1,
          });
      });
      const jobs = await Promise.all([
        ...['key_1', 'key_2'].map((key_id) => create(1, { tenant_id: 'ten_1', key_id })),
        ...['ten_2', 'ten_3'].map((tenant_id) => create(1, { tenant_id, key_id: 'key_3' })),
      ]);
      const [byPaused, byOther, ofSuspended, ofDeleted] = jobs.map(({ id }) => id);
      const look = async () => ({
        open: (await store.openTenants()).sort(),
        unqueued: (await store.unqueued({ most: 9, ahead: 9, idleMs: 1e9 }))
          .flatMap(({ items }) => items.map(({ job }) => job))
          .sort(),
      });
      const all = [byPaused, byOther, ofSuspended, ofDeleted];
      expect(await look()).to.deep.equal({ open: ['ten_1', 'ten_2', 'ten_3'], unqueued: all });

      await keys.change(async (tx) => {
        await tx.updateKey('key_1', { paused_at: 1 });
        await tx.updateTenant('ten_2', { suspended_at: 1 });
        await tx.deleteTenant({ id: 'ten_3', name: 't3' }, 1);
      });
      expect(await look()).to.deep.equal({ open: ['ten_1'], unqueued: [byOther] });
      expect(await store.ofFormerTenants({ most: 9, skip: 0 })).to.deep.equal([ofDeleted]);

      await keys.change(async (tx) => {
        await tx.updateKey('key_1', { paused_at: null });
        await tx.updateTenant('ten_2', { suspended_at: null });
      });
      const back = [byPaused, byOther, ofSuspended];
      expect(await look()).to.deep.equal({ open: ['ten_1', 'ten_2'], unqueued: back });
    });

    it('leaves no webhook of a tenant that was deleted while its last items were worked on', async () => {
      const webhook_url = 'https://example.com/';
      const [job, other] = await Promise.all(
        ['ten_1', 'ten_2'].map((tenant_id) => create(1, { tenant_id, webhook_url })),
      );
      const keys = createKeyStore(opened.access());
      await keys.change(async (tx) => {
        await tx.addTenant({ ...newTenant, id: 'ten_1', name: 't1', created_at: 1 });
        await tx.deleteTenant({ id: 'ten_1', name: 't1' }, 1);
      });
      for (const each of [job, other]) {
        await finish(each?.items ?? []);
        await store.remove(each?.id ?? '');
      }
      expect((await deliveries(store)).map(({ tenant_id }) => tenant_id)).to.deep.equal(['ten_2']);
    });

    it('gives an item back to the outbox, to be handed to the queue again', async () => {
      const { items } = await create(2);
      await store.queued(items);
      const unqueued = () => store.unqueued({ most: 9, ahead: 9, idleMs: 1e9 });
      const started = await store.start(items);
      await store.handBack(started.slice(1), { counted: false, unqueued: true });
      expect(await unqueued()).to.deep.equal([{ tenant: 'ten_1', items: items.slice(1) }]);
      await store.queued(items.slice(1));
      expect(await unqueued()).to.deep.equal([]);
    });

    it('gives an item what it was given, whatever that was', async () => {
      const fields = [['text', 'a\0b \ud800 "ü"']] as const;
      const files = [{ field: 'file', type: 'image/png', name: 'a\n.png', bytes: 7 }];
      const shared = [
        { fields, files },
        { fields, files: [] },
      ];
      const own = [
        { fields, files },
        { json: '{"a": "\\u0000"}', files: [] },
        { fields: [], files: [] },
      ];
      for (const given of [shared, own] as ItemInput[][]) {
        const job = newJob();
        await store.create(job, given);
        const started = await store.start(refs(job.id, given.length));
        expect(started.map(({ input }) => input)).to.deep.equal(given);
      }
    });

    it('stores what all items share once, and no input of an item that has ended, however it has', async () => {
      const { id } = newJob();
      const items = refs(id, 6);
      const fields = [['text', 'long '.repeat(100)]] as const;
      await store.create({ ...newJob(), id }, Array(6).fill({ fields, files: [] }));
      const stored = async () => {
        const query = sql<{ input: string }>`select input from job_items where job_id = ${id} order by idx`;
        return (await store.access.run((db) => query.execute(db))).rows.map(({ input }) => input);
      };
      const open = '{"files":[]}';
      expect(await stored()).to.deep.equal(Array(6).fill(open));
      const started = await store.start(items.slice(0, 4));
      await store.finish([done(items[0] as ItemRef), failed(items[1] as ItemRef)]);
      expect(await stored()).to.deep.equal(['', '', open, open, open, open]);
      await store.cancel('ten_1', id);
      expect(await stored()).to.deep.equal(['', '', open, open, '', '']);
      await store.handBack(started.slice(2), { counted: false });
      await store.start(items.slice(2));
      expect(await stored()).to.deep.equal(Array(6).fill(''));
      const { rows } = await store.access.run((db) =>
        sql`select fields, bytes from jobs where id = ${id} and finished_at is not null`.execute(db),
      );
      expect(rows).to.deep.equal([{ fields: null, bytes: 0 }]);
    });

    it('lists the newest jobs first, page by page, also behind one that has gone', async () => {
      const ids: string[] = [];
      for (let at = 0; at < 5; at += 1) ids.unshift((await create(1)).id);
      const list = async (tenant: string, limit: number, after?: string) => {
        const { rows, next } = await store.jobs(tenant, { limit, after, endedAfter: 0 });
        return [rows.map(({ id }) => id), next];
      };
      expect(await list('ten_1', 2)).to.deep.equal([ids.slice(0, 2), ids[1]]);
      await store.remove(ids[1] ?? '');
      expect(await list('ten_1', 3, ids[1])).to.deep.equal([ids.slice(2), null]);
      expect(await list('ten_2', 2)).to.deep.equal([[], null]);
    });

    it('leads back to the page before, in the same order', async () => {
      const ids: string[] = [];
      for (let at = 0; at < 5; at += 1) ids.unshift((await create(1)).id);
      const page = async (place: { after?: string | undefined; before?: string | undefined }) => {
        const { rows, ...ways } = await store.jobs('ten_1', { limit: 2, endedAfter: 0, ...place });
        return [rows.map(({ id }) => id), ways];
      };
      expect(await page({ after: ids[3] })).to.deep.equal([ids.slice(4), { previous: ids[4], next: null }]);
      expect(await page({ before: ids[4] })).to.deep.equal([
        ids.slice(2, 4),
        { previous: ids[2], next: ids[3] },
      ]);
      expect(await page({ before: ids[2] })).to.deep.equal([
        ids.slice(0, 2),
        { previous: null, next: ids[1] },
      ]);
    });

    it('lists the jobs of one state, by the same rule as it says of each', async () => {
      const make = async (count: number) => (await create(count)).items;
      const [waiting, running, ended, broken, cancelled] = await Promise.all([1, 2, 1, 1, 2].map(make));
      for (const items of [running, cancelled]) await store.start(items?.slice(0, 1) ?? []);
      await finish(ended ?? []);
      await store.finish((broken ?? []).map((item) => failed(item)));
      await store.cancel('ten_1', cancelled?.[0]?.job ?? '');
      await finish(cancelled?.slice(0, 1) ?? []);
      const expected = { waiting, running, done: ended, failed: broken, cancelled };
      for (const [state, items] of Object.entries(expected)) {
        const page = { limit: 9, endedAfter: 0, state: state as JobState };
        const { rows } = await store.jobs('ten_1', page);
        expect(rows.map(jobState), state).to.deep.equal([state]);
        expect(rows[0]?.id, state).to.equal(items?.[0]?.job);
      }
    });

    it('lists items page by page with what has come of them, but for the text of a result', async () => {
      const { id, items } = await create(4);
      const [a, b, c] = items as [ItemRef, ItemRef, ItemRef];
      const text = JSON.stringify({ text: 'a\0b \ud800 "ü" \u2028' });
      const { end } = done(a);
      await store.finish([{ ...a, end: end.state === 'done' ? { ...end, text } : end }, failed(b), done(c)]);
      expect(await store.items(id, { limit: 2 })).to.deep.equal({
        rows: [
          { ...a, ...end },
          { ...b, ...failed(b).end },
        ],
        next: 1,
      });
      const last = { ...items[3], state: 'waiting' };
      expect(await store.items(id, { limit: 2, after: 2 })).to.deep.equal({ rows: [last], next: null });
      expect((await store.item(a))?.text).to.equal(text);
      expect(await store.item(c)).not.to.have.property('text');
    });

    it('says which items it has ended, and of those that it was asked to end again which have that end', async () => {
      const { items } = await create(4);
      const [a, b, c, d] = items.map((item) => done(item));
      if (!a || !b || !c || !d || a.end.state !== 'done') return expect.fail();
      expect((await store.finish([a, failed(b), a])).items).to.deep.equal([a, failed(b)]);
      expect((await store.finish([a, c])).items).to.deep.equal([c]);
      const again = [a, b, c, d].map((item) => ({ ...item, again: true }));
      expect((await store.finish(again)).items).to.have.members([again[0], again[2], again[3]]);
      expect(await counted(store)).to.deep.equal({ calls: 4, errors: 1 });
      // The same result of another attempt is another process's.
      const result = { ...a.end.result, attempt: 2 };
      const other = { ...a, end: { state: 'done', result }, again: true } as const;
      expect((await store.finish([other])).items).to.deep.equal([]);
    });

    it('notifies the webhook of the end of a job', async () => {
      const { id, items } = await create(2, { webhook_url: 'https://a.example/' });
      const [a, b] = items as [ItemRef, ItemRef];
      expect((await store.finish([done(a)])).jobs).to.deep.equal([]);
      expect(await deliveries(store)).to.deep.equal([]);
      expect((await store.finish([failed(b)])).jobs).to.have.length(1);
      const [delivery, ...more] = await deliveries(store);
      expect(more).to.deep.equal([]);
      expect(delivery).to.include({ tenant_id: 'ten_1', url: 'https://a.example/', attempts: 0 });
      expect(delivery?.id).to.match(/^msg_\w{22}$/);
      const at = new Date(store.clock.now).toISOString();
      const counts = { total: 2, done: 1, failed: 1, cancelled: 0 };
      expect(delivery?.payload).to.deep.equal({
        ...{ type: 'job.done', timestamp: at },
        data: {
          ...{ id, service: 'text/remove-stopwords', state: 'done', ...counts },
          ...{ created_at: at, finished_at: at },
        },
      });
    });

    it('gives the queue half of what a tenant may have there, and more when less than that waits', async () => {
      const one = await create(3);
      const other = await create(7);
      async function expectUnqueued(...items: ItemRef[]) {
        const given = await store.unqueued({ most: 100, ahead: 8, idleMs: 1_000 });
        expect(given).to.deep.equal(items.length > 0 ? [{ tenant: 'ten_1', items }] : []);
      }
      const first = [...one.items, ...other.items.slice(0, 1)];
      await expectUnqueued(...first);
      await expectUnqueued(...first);
      await store.queued(first);
      await expectUnqueued();
      await store.start(one.items.slice(0, 1));
      await expectUnqueued(...other.items.slice(1, 5));
      await store.queued(other.items.slice(1, 5));
      await finish(one.items);
      await expectUnqueued();
      await store.start(other.items.slice(0, 2));
      await expectUnqueued(...other.items.slice(5));
    });

    it('gives the queue first what is of the tenant with the fewest items there, whichever came first', async () => {
      const many = await create(100);
      await store.queued(many.items.slice(0, 3));
      const few = await create(1, { tenant_id: 'ten_2' });
      expect(await store.unqueued({ most: 10, ahead: 20, idleMs: 1_000 })).to.deep.equal([
        { tenant: 'ten_2', items: few.items },
        { tenant: 'ten_1', items: many.items.slice(3, 12) },
      ]);
    });

    it('gives again what the queue has lost, once nothing has moved for a while', async () => {
      const [one, behind] = [await create(3), await create(3)];
      const unqueued = async () =>
        (await store.unqueued({ most: 10, ahead: 10, idleMs: 1_000 })).flatMap(({ items }) => items);
      await store.queued([...one.items, ...behind.items.slice(0, 2)]);
      store.clock.now += 900;
      await store.start(one.items.slice(0, 1));
      await finish(one.items.slice(0, 1));
      const last = behind.items.slice(2);
      store.clock.now += 900;
      expect(await unqueued()).to.deep.equal(last);
      store.clock.now += 200;
      // What the queue has of the job behind it waits for it.
      expect(await unqueued()).to.deep.equal([...one.items.slice(1), ...last]);
      await store.queued(one.items);
      expect(await unqueued()).to.deep.equal(last);
      await finish(one.items);
      // Nothing of this one has been given to the queue.
      const { items } = await create(1, { id: createJobId(1) });
      store.clock.now += 1_100;
      expect(await unqueued()).to.deep.equal([...items, ...behind.items]);
    });

    it('gives jobs that ended long ago, and forgets them', async () => {
      const [old, young, open] = [await create(1), await create(1), await create(1)];
      await finish(old.items);
      store.clock.now += 1_000;
      await finish(young.items);
      const expired = (skip = 0) => store.expired(store.clock.now, { most: 9, skip });
      expect(await expired()).to.deep.equal([old.id]);
      expect(await expired(1)).to.deep.equal([]);
      await Promise.all([store.remove(old.id), store.remove(old.id)]);
      expect(await store.job('ten_1', old.id)).to.equal(undefined);
      expect(await store.known([old.id, young.id, 'job_none'])).to.deep.equal([young.id]);
      expect((await store.items(old.id, { limit: 1 })).rows).to.deep.equal([]);
      expect((await finish(old.items)).jobs).to.deep.equal([]);
      expect(await expired()).to.deep.equal([]);
      expect(await store.job('ten_1', open.id)).to.include({ total: 1 });
    });

    it('accepts a job of many items, slice by slice', async () => {
      const count = Number(process.env.TEST_JOB_ITEMS ?? 2_500);
      const { id, items } = await create(count);
      const waiting = { waiting: count, running: 0, oldestWaitingAt: store.clock.now };
      expect(await store.stats()).to.deep.equal(waiting);
      await store.queued(items);
      expect(await store.start(items)).to.have.length(count);
      expect((await finish(items)).jobs).to.have.length(1);
      await store.remove(id);
      expect(await store.item({ job: id, index: count - 1 })).to.equal(undefined);
    });
  }));

/** What every process asks again and again, or at each request for a job, and the index by which both databases find it. */
const looks: [what: string, index: string, ask: (store: JobStore) => Promise<unknown>][] = [
  ['items for the queue', 'jobs_open', (store) => store.unqueued({ most: 500, ahead: 500, idleMs: 1_000 })],
  ['tenants with open jobs', 'jobs_open', (store) => store.openTenants()],
  ['figures for the metrics', 'jobs_open', (store) => store.stats()],
  ['jobs that are to be forgotten', 'jobs_ended', (store) => store.expired(5, { most: 20, skip: 0 })],
  ['jobs with inputs that are to be removed', 'jobs_holding', (store) => store.uncleared(20)],
  ['what a tenant’s jobs hold', 'jobs_holding', (store) => store.held('ten_1')],
];

/** Makes 20,000 jobs that have ended. */
const seed = `with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
  insert into jobs (id, tenant_id, key_id, service, bytes, created_at, moved_at, finished_at,
    total, unqueued, started, running, done, failed, cancelled)
  select 'job_' || x, 'ten_' || (x % 50), 'k', 's', 0, 1, 1, 1000 + x, 1, 0, 1, 0, 1, 0, 0 from c`;

describe('jobs/store, with many jobs that have ended', () =>
  onEachDatabase((database) => {
    it('finds what is asked again and again without looking at them', async () => {
      const { kind, location, connect } = database();
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
        await sql.raw(seed).execute(db);
        // As PostgreSQL does by itself, a minute later.
        if (kind === 'postgres') await sql`analyze jobs`.execute(db);
        const store = createJobStore(createAccess(db, kind)());
        await storeJob(store, 1);
        for (const [what, index, ask] of looks) {
          asked.length = 0;
          await ask(store);
          const found = new Set<string>();
          for (const query of asked.filter((query) => query.sql.includes('"jobs"')))
            for (const each of await indexesOf(db, kind, query)) found.add(each);
          found.delete('the key');
          expect([...found], what).to.deep.equal([index]);
        }
      } finally {
        await db.destroy();
      }
    });
  }));

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
