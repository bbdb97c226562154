import { expect } from 'chai';
import { sql } from 'kysely';
import type { ItemRef } from '../../../../gateway/jobs/model.js';
import type { NewJob } from '../../../../gateway/jobs/store/create.js';
import type { EndedItem } from '../../../../gateway/jobs/store/transitions.js';
import { onEachDatabase } from '../../databases.js';
import { rejection } from '../../keys/key-store-contract.js';
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
  onEachDatabase(
    (database) => {
      let store: TestStore;
      beforeEach(async () => {
        store = openJobStore(await database().connect());
      });

      const create = (count: number, job?: Parameters<typeof storeJob>[2]) => storeJob(store, count, job);

      it('knows what a tenant’s jobs hold that have not ended', async () => {
        const tenant_id = 'ten_holds';
        const [one, two] = [newJob({ tenant_id, bytes: 3_000_000_000 }), newJob({ tenant_id, bytes: 7 })];
        for (const job of [one, two]) await store.create(job, inputs(1));
        expect(await store.held(tenant_id)).to.include({ inputs: 3_000_000_007, results: 0 });
        await store.cancel(tenant_id, one.id);
        expect(await store.held(tenant_id)).to.include({ inputs: 7, results: 0 });
        expect(await store.held('ten_none')).to.include({ inputs: 0, results: 0 });
      });

      it('counts a job’s files until it is said that they are removed', async () => {
        const tenant_id = 'ten_files';
        const { id, items } = await create(1, { tenant_id, bytes: 9, files: true });
        await store.cleared([id]);
        expect(await store.held(tenant_id)).to.include({ inputs: 9 });
        await store.finish(items.map((item) => done(item)));
        expect(await store.held(tenant_id)).to.include({ inputs: 9 });
        expect(await store.uncleared(10)).to.deep.equal([id]);
        await store.cleared([id]);
        expect(await store.held(tenant_id)).to.include({ inputs: 0 });
        expect(await store.uncleared(10)).to.deep.equal([]);
      });

      it('counts what results and errors hold until their job is forgotten', async () => {
        const tenant_id = 'ten_results';
        const [one, two] = [await create(3, { tenant_id }), await create(1, { tenant_id })];
        await store.finish([...one.items.slice(0, 2), ...two.items].map((item) => done(item)));
        const error = failed(one.items[2] as ItemRef);
        await store.finish([error, done(one.items[0] as ItemRef)]);
        const { state, ...kept } = error.end;
        expect(await store.held(tenant_id)).to.include({ results: 6 + JSON.stringify(kept).length });
        await Promise.all([store.remove(one.id), store.remove(one.id)]);
        expect(await store.held(tenant_id)).to.include({ results: 2 });
        await store.remove(two.id);
        expect(await store.held(tenant_id)).to.include({ results: 0 });
        const { rows } = await store.access.run((db) =>
          sql`select * from job_tenants where tenant_id = ${tenant_id}`.execute(db),
        );
        expect(rows).to.deep.equal([]);
      });

      it('keeps no input of an item that has ended, however it has, and nothing that all items share', async () => {
        const fields = [['text', 'x']] as const;
        const job = newJob({ tenant_id: 'ten_inputs' });
        await store.create(job, Array(6).fill({ fields, files: [] }));
        const items = refs(job.id, 6);
        const kept = async () => {
          const { rows } = await store.access.run((db) =>
            sql<{ input: string }>`select input from job_items where job_id = ${job.id} order by idx`.execute(
              db,
            ),
          );
          return rows.map(({ input }) => input !== '');
        };
        const started = await store.start(items.slice(0, 4));
        await store.finish([done(items[0] as ItemRef), failed(items[1] as ItemRef)]);
        expect(await kept()).to.deep.equal([false, false, true, true, true, true]);
        await store.cancel('ten_inputs', job.id);
        expect(await kept()).to.deep.equal([false, false, true, true, false, false]);
        await store.handBack(started.slice(2));
        await store.start(items.slice(2));
        expect(await kept()).to.deep.equal(Array(6).fill(false));
        const { rows } = await store.access.run((db) =>
          sql`select fields, bytes from jobs where id = ${job.id} and finished_at is not null`.execute(db),
        );
        expect(rows).to.deep.equal([{ fields: null, bytes: 0 }]);
      });

      it('refuses a job for which its tenant has no room, but for the first, and no request that is sent again', async () => {
        const tenant_id = 'ten_full';
        const most = { inputs: 100, results: 2 };
        const make = (job: Partial<NewJob>) => store.create(newJob({ tenant_id, ...job }), inputs(1), most);
        const idempotency = { key: 'once', digest: 'd' };
        const first = await make({ bytes: 1_000, idempotency });
        expect(await rejection(make({ bytes: 1 }))).to.include({ code: 'tenant_busy', retryAfter: 10 });
        expect((await make({ bytes: 1_000, idempotency })).outcome).to.equal('replayed');
        expect((await store.jobs(tenant_id, { limit: 9, endedAfter: 0 })).rows).to.have.length(1);
        const { id } = (first as { job: { id: string } }).job;
        await store.finish(refs(id, 1).map((item) => done(item)));
        const error = await rejection(make({ bytes: 1 }));
        expect(error).to.include({ code: 'tenant_busy' });
        expect((error as Error).message).to.include('2 bytes');
        await store.remove(id);
        expect((await make({ bytes: 1 })).outcome).to.equal('created');
      });

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
        expect(await store.item({ job: job.id, index: 2 })).to.deep.equal({
          ...{ job: job.id, index: 2, state: 'waiting' },
        });
        expect(await store.item({ job: job.id, index: 3 })).to.equal(undefined);
      });

      it('gives an item what it was given, whatever that was', async () => {
        const job = newJob();
        const fields = [['text', 'a\0b \ud800 "ü"']] as const;
        const files = [{ field: 'file', type: 'image/png', name: 'a\n.png', bytes: 7 }];
        const given = [
          { fields, files },
          { fields, files: [] },
        ];
        await store.create(job, given);
        const started = await store.start(refs(job.id, 2));
        expect(started.map(({ input }) => input)).to.deep.equal(given);
        const own = newJob();
        const mixed = [
          { fields, files },
          { json: '{"a": "\\u0000"}', files: [] },
          { fields: [], files: [] },
        ];
        await store.create(own, mixed);
        expect((await store.start(refs(own.id, 3))).map(({ input }) => input)).to.deep.equal(mixed);
      });

      it('keeps what all items share once', async () => {
        const job = newJob();
        const fields = [['text', 'long '.repeat(100)]] as const;
        await store.create(
          job,
          inputs(100).map(() => ({ fields, files: [] })),
        );
        const rows = await store.access.run((db) =>
          db.selectFrom('job_items').select('input').distinct().execute(),
        );
        expect(rows).to.deep.equal([{ input: '{"files":[]}' }]);
      });

      it('makes one job of the same request, and refuses another with its key', async () => {
        const same = () => newJob({ idempotency: { key: 'k', digest: 'd' } });
        const [one, other] = await Promise.all([
          store.create(same(), inputs(2)),
          store.create(same(), inputs(2)),
        ]);
        expect([one.outcome, other.outcome]).to.have.members(['created', 'replayed']);
        expect('job' in one && one.job).to.deep.equal('job' in other && other.job);
        expect((await store.jobs('ten_1', { limit: 9, endedAfter: 0 })).rows).to.have.length(1);
        const changed = newJob({ idempotency: { key: 'k', digest: 'e' } });
        expect(await store.create(changed, inputs(1))).to.deep.equal({ outcome: 'conflict' });
        const made = ['d', 'e'].map((digest) => store.made('ten_1', { key: 'k', digest }, 0));
        const [found, conflict] = await Promise.all(made);
        expect([found?.outcome, conflict?.outcome]).to.deep.equal(['replayed', 'conflict']);
        expect(await store.made('ten_2', { key: 'k', digest: 'd' }, 0)).to.equal(undefined);
        const anothers = newJob({ tenant_id: 'ten_2', idempotency: { key: 'k', digest: 'e' } });
        expect((await store.create(anothers, inputs(1))).outcome).to.equal('created');
      });

      it('lists the newest jobs first, page by page, also behind one that has gone', async () => {
        const ids: string[] = [];
        for (let at = 0; at < 5; at += 1) ids.unshift((await create(1)).id);
        const first = await store.jobs('ten_1', { limit: 2, endedAfter: 0 });
        expect(first.rows.map(({ id }) => id)).to.deep.equal(ids.slice(0, 2));
        expect(first.next).to.equal(ids[1]);
        await store.remove(ids[1] ?? '');
        const second = await store.jobs('ten_1', { limit: 3, after: first.next ?? '', endedAfter: 0 });
        expect(second.rows.map(({ id }) => id)).to.deep.equal(ids.slice(2));
        expect(second.next).to.equal(null);
        expect(await store.jobs('ten_2', { limit: 2, endedAfter: 0 })).to.deep.equal({
          rows: [],
          next: null,
        });
      });

      it('lists items page by page, with what has come of them', async () => {
        const { id, items } = await create(3);
        const [a = { job: '', index: 0 }, b = a] = items;
        await store.finish([done(a), failed(b)]);
        const { rows, next } = await store.items(id, { limit: 2 });
        expect(next).to.equal(1);
        expect(rows).to.deep.equal([
          {
            ...a,
            state: 'done',
            result: { kind: 'json', type: 'application/json', bytes: 2, dryrun: false },
          },
          {
            ...{ ...b, state: 'failed' },
            error: {
              code: 'invalid_input',
              message: 'No.',
              details: [{ field: 'text', problem: 'is missing' }],
            },
          },
        ]);
        expect(await store.items(id, { limit: 2, after: 1 })).to.deep.equal({
          rows: [{ job: id, index: 2, state: 'waiting' }],
          next: null,
        });
      });

      it('keeps the text of a result with its item, whatever is in it, and off the pages', async () => {
        const { items } = await create(2);
        const [a, b] = items as [ItemRef, ItemRef];
        const text = JSON.stringify({ text: 'a\0b \ud800 "ü" \u2028' });
        const { end } = done(a);
        await store.finish([{ ...a, end: end.state === 'done' ? { ...end, text } : end }, done(b)]);
        expect((await store.item(a))?.text).to.equal(text);
        expect(await store.item(b)).not.to.have.property('text');
        const { rows } = await store.items(a.job, { limit: 2 });
        expect(JSON.stringify(rows)).not.to.contain('ü');
      });

      it('starts what is open and counts each time but what is handed back', async () => {
        const { id, items } = await create(2);
        const unknown = { job: 'job_none', index: 0 };
        const [first, second] = await store.start([...items, unknown]);
        expect(first).to.deep.equal({
          ...{ job: id, index: 0, attempt: 1, created_at: store.clock.now, done: 0 },
          of: { tenant_id: 'ten_1', key_id: 'key_1', service: 'text/remove-stopwords' },
          input: { json: '{"text":"0"}', files: [] },
        });
        expect(second?.index).to.equal(1);
        expect(await store.job('ten_1', id)).to.include({ started: 2 });
        expect((await store.item({ job: id, index: 0 }))?.state).to.equal('running');
        await store.handBack(first ? [first] : []);
        expect(await store.job('ten_1', id)).to.include({ started: 1 });
        expect((await store.start([{ job: id, index: 0 }]))[0]?.attempt).to.equal(1);
        await store.handBack(first ? [first] : [], { counted: true });
        expect(await store.job('ten_1', id)).to.include({ started: 2 });
        expect((await store.item({ job: id, index: 0 }))?.state).to.equal('waiting');
        expect((await store.start([{ job: id, index: 0 }]))[0]?.attempt).to.equal(2);
        await store.finish(items.map((item) => done(item)));
        expect(await store.start(items)).to.deep.equal([]);
      });

      it('tells which items have not ended', async () => {
        const { id, items } = await create(4);
        await store.start(items.slice(0, 2));
        await store.finish([done({ job: id, index: 0 })]);
        const gone = { job: newJob().id, index: 0 };
        expect(await store.open([...items, gone])).to.have.deep.members(items.slice(1));
        await store.cancel('ten_1', id);
        expect(await store.open(items)).to.deep.equal([items[1]]);
      });

      it('leaves an item to whoever has started it since', async () => {
        const { items } = await create(1);
        const [lost] = await store.start(items);
        await store.start(items);
        await store.handBack(lost ? [lost] : []);
        expect((await store.stats()).running).to.equal(1);
      });

      it('says which items it has ended, and of those that it was asked to end again which have that end', async () => {
        const { items } = await create(4);
        const [a, b, c, d] = items.map((item) => done(item));
        if (!a || !b || !c || !d) return expect.fail();
        expect((await store.finish([a, failed(b), a])).items).to.deep.equal([a, failed(b)]);
        expect((await store.finish([a, c])).items).to.deep.equal([c]);
        const again = [a, b, c, d].map((item) => ({ ...item, again: true }));
        const ended = await store.finish(again);
        expect(ended.items).to.have.members([again[0], again[2], again[3]]);
        expect(await counted(store)).to.deep.equal({ calls: 4, errors: 1 });
        // The same result of another attempt is another process's.
        const result = a.end.state === 'done' ? a.end.result : expect.fail();
        const other: EndedItem = {
          ...a,
          end: { state: 'done', result: { ...result, attempt: 2 } },
          again: true,
        };
        expect((await store.finish([other])).items).to.deep.equal([]);
      });

      it('ends each item once, counts it once, and tells the webhook of the end', async () => {
        const { id, items } = await create(2, { webhook_url: 'https://a.example/' });
        const [a, b] = items.map((item) => done(item));
        expect((await store.finish(a ? [a, a] : [])).jobs).to.deep.equal([]);
        expect((await store.finish(a && b ? [failed(a), failed(b)] : [])).jobs).to.have.length(1);
        expect((await store.finish(b ? [b] : [])).jobs).to.deep.equal([]);
        expect(await store.job('ten_1', id)).to.include({ done: 1, failed: 1, finished_at: store.clock.now });
        expect(await counted(store)).to.deep.equal({ calls: 2, errors: 1 });
        const [told, ...more] = await deliveries(store);
        expect(more).to.deep.equal([]);
        expect(told).to.include({ tenant_id: 'ten_1', url: 'https://a.example/', attempts: 0 });
        expect(told?.id).to.match(/^msg_\w{22}$/);
        const at = new Date(store.clock.now).toISOString();
        const counts = { total: 2, done: 1, failed: 1, cancelled: 0 };
        expect(told?.payload).to.deep.equal({
          ...{ type: 'job.done', timestamp: at },
          data: {
            ...{ id, service: 'text/remove-stopwords', state: 'done', ...counts },
            ...{ created_at: at, finished_at: at },
          },
        });
      });
    },
    { ownThread: false },
  ));
