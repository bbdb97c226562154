import { expect } from 'chai';
import type { JobQueue } from '../../../../gateway/jobs/queue/job-queue.js';
import { createSqliteQueue } from '../../../../gateway/jobs/queue/sqlite-queue.js';
import { createMaintenance, type Maintenance } from '../../../../gateway/jobs/runner/maintenance.js';
import { createRetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import { until } from '../../../needs.js';
import { createSqliteDatabase, type TestDatabase } from '../../databases.js';
import { done, inputs, newJob, openJobStore, storeJob, type TestStore } from '../store/stored-jobs.js';

const logger = { info() {}, warn() {}, error() {} };

describe('jobs/runner: what hands items to the queue', () => {
  let place: TestDatabase;
  let store: TestStore;
  let queue: JobQueue;
  let maintenance: Maintenance | undefined;
  before(async () => {
    place = await createSqliteDatabase();
  });
  beforeEach(async () => {
    const database = await place.connect();
    store = openJobStore(database);
    queue = createSqliteQueue(database.access());
  });
  afterEach(async () => {
    await maintenance?.close();
    await place.clear();
  });
  after(() => place.drop());

  function start(parts: Partial<Parameters<typeof createMaintenance>[0]> = {}): void {
    maintenance = createMaintenance({
      ...{ store, queue, logger, retryPolicy: createRetryPolicy({ logger }), pollMs: 20 },
      seesFiles: async () => true,
      onOpen: () => undefined,
      ...parts,
    });
  }

  it('gives it a small job at once, where its tenant’s items before that are there already', async () => {
    const opened: string[] = [];
    const isNext: boolean[] = [];
    const make = async (tenant_id: string, total: number) => {
      const created = await store.create(newJob({ tenant_id }), inputs(total));
      if (created.outcome !== 'created') return expect.fail();
      isNext.push(created.isNext);
      maintenance?.created(created.job, created.isNext);
    };
    // As if to look for what is to be handed over took for ever.
    let release: (() => void) | undefined;
    const released = new Promise<[]>((resolve) => (release = () => resolve([])));
    start({
      store: { ...store, unqueued: () => released },
      onOpen: (tenants) => void opened.push(...tenants),
    });
    await make('ten_2', 3);
    await until(() => opened.length === 1);
    expect(await queue.lease('ten_2', 9)).to.have.length(3);
    await make('ten_1', 1_500);
    await make('ten_1', 1);
    expect(isNext).to.deep.equal([true, true, false]);
    expect(opened).to.deep.equal(['ten_2']);
    expect(await queue.lease('ten_1', 9)).to.deep.equal([]);
    release?.();
  });

  it('gives it another tenant’s item before the many of one, and those a few hundred ahead', async () => {
    const added: [tenant: string, items: number][] = [];
    await storeJob(store, 1_500);
    await storeJob(store, 1_500);
    await storeJob(store, 1, { tenant_id: 'ten_2' });
    const add: JobQueue['add'] = async (tenant, items) => {
      added.push([tenant, items.length]);
      await queue.add(tenant, items);
    };
    start({ queue: { ...queue, add } });
    await until(async () => (await queue.lease('ten_2', 9)).length === 1);
    const before = added.slice(0, added.map(([tenant]) => tenant).indexOf('ten_2'));
    expect(before.reduce((sum, [, items]) => sum + items, 0)).to.be.at.most(500);
    expect((await queue.lease('ten_1', 9_999)).length).to.be.within(1, 500);
  });

  it('removes again what was cancelled while it was handed over', async () => {
    const { id } = await storeJob(store, 30);
    let cancelled = 0;
    const add: JobQueue['add'] = async (tenant, items) => {
      cancelled = (await store.cancel('ten_1', id))?.cancelled ?? 0;
      await queue.add(tenant, items);
    };
    start({ queue: { ...queue, add } });
    await until(
      async () => cancelled === 30 && (await store.unqueued({ most: 9, ahead: 9, idleMs: 1 })).length === 0,
    );
    await maintenance?.close();
    expect(await queue.lease('ten_1', 99)).to.deep.equal([]);
  });

  it('gives it all of a large job in the end, as items are leased', async () => {
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
