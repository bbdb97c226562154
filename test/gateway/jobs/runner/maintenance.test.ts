import { expect } from 'chai';
import type { JobQueue } from '../../../../gateway/jobs/queue/job-queue.js';
import { createMaintenance, type Maintenance } from '../../../../gateway/jobs/runner/maintenance.js';
import { createRetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import { until } from '../../../needs.js';
import { createSqliteDatabase, type TestDatabase } from '../../databases.js';
import { type QueuePlace, queuePlaces } from '../queue/queues.js';
import { done, inputs, newJob, openJobStore, storeJob, type TestStore } from '../store/stored-jobs.js';

const logger = { info() {}, warn() {}, error() {} };

for (const { name, require, create } of queuePlaces) {
  describe(`jobs/runner: what hands items to the queue, on ${name}`, () => {
    let database: TestDatabase;
    let store: TestStore;
    let place: QueuePlace;
    let queue: JobQueue;
    let chores: Maintenance | undefined;
    before(async function () {
      await require.call(this);
      database = await createSqliteDatabase();
      place = await create();
    });
    beforeEach(async () => {
      store = openJobStore(await database.connect());
      queue = await place.open();
    });
    afterEach(async () => {
      await chores?.close();
      await place.clear();
      await database.clear();
    });
    after(async () => {
      await place?.drop();
      await database?.drop();
    });

    function start(parts: Partial<Parameters<typeof createMaintenance>[0]> = {}): Maintenance {
      chores = createMaintenance({
        ...{ store, queue, logger, retryPolicy: createRetryPolicy({ logger }) },
        seesFiles: async () => true,
        onOpen: () => undefined,
        pollMs: 20,
        ...parts,
      });
      return chores;
    }

    it('gives it a small job at once, where its tenant’s items before that are there already', async () => {
      const opened: string[] = [];
      const isNext: boolean[] = [];
      const made = async (tenant_id: string, total: number) => {
        const created = await store.create(newJob({ tenant_id }), inputs(total));
        if (created.outcome !== 'created') return expect.fail();
        isNext.push(created.isNext);
        chores?.created(created.job, created.isNext);
      };
      // As if to look for what is to be handed over took for ever.
      let release: () => void = () => undefined;
      const unqueued = () => new Promise<[]>((resolve) => (release = () => resolve([])));
      const looking = createMaintenance({
        ...{ queue, logger, retryPolicy: createRetryPolicy({ logger }), seesFiles: async () => true },
        store: { ...store, unqueued },
        onOpen: (tenants) => void opened.push(...tenants),
      });
      chores = {
        ...looking,
        close() {
          release();
          return looking.close();
        },
      };
      await made('ten_2', 3);
      await until(() => opened.length === 1);
      expect(await queue.lease('ten_2', 9)).to.have.length(3);
      await made('ten_1', 1_500);
      await made('ten_1', 1);
      expect(isNext).to.deep.equal([true, true, false]);
      expect(opened).to.deep.equal(['ten_2']);
      expect(await queue.lease('ten_1', 9)).to.deep.equal([]);
    });

    it('gives it another tenant’s item before the many of one, and those a few hundred ahead', async () => {
      const added: [tenant: string, items: number][] = [];
      await storeJob(store, 1_500);
      await storeJob(store, 1_500);
      await storeJob(store, 1, { tenant_id: 'ten_2' });
      start({
        queue: {
          ...queue,
          async add(tenant, items) {
            added.push([tenant, items.length]);
            await queue.add(tenant, items);
          },
        },
      });
      await until(async () => (await queue.lease('ten_2', 9)).length === 1);
      const before = added.slice(
        0,
        added.findIndex(([tenant]) => tenant === 'ten_2'),
      );
      const ahead = before.reduce((sum, [, items]) => sum + items, 0);
      expect(ahead).to.be.at.most(500);
      const taken = (await queue.lease('ten_1', 9_999)).length;
      expect(taken).to.be.within(1, 500);
    });

    it('takes out again what was cancelled while it was handed over', async () => {
      const { id } = await storeJob(store, 30);
      let cancelled = 0;
      start({
        queue: {
          ...queue,
          async add(tenant, items) {
            cancelled = (await store.cancel('ten_1', id))?.cancelled ?? 0;
            await queue.add(tenant, items);
          },
        },
      });
      await until(
        async () => cancelled === 30 && (await store.unqueued({ most: 9, ahead: 9, idleMs: 1 })).length === 0,
      );
      await chores?.close();
      expect(await queue.lease('ten_1', 99)).to.deep.equal([]);
    });

    it('gives it all of a large job in the end, as items are taken', async () => {
      const { items } = await storeJob(store, 1_200);
      start();
      const seen = new Set<number>();
      await until(async () => {
        const leases = await queue.lease('ten_1', 200);
        for (const { index } of leases) seen.add(index);
        await store.start(leases);
        await store.finish(leases.map(({ job, index }) => done({ job, index })));
        await queue.done(leases);
        return seen.size === items.length;
      });
      expect(await store.openTenants()).to.deep.equal([]);
    }).timeout(30_000);
  });
}
