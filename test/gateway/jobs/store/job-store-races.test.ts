import { expect } from 'chai';
import fc from 'fast-check';
import type { ItemRef, ItemState } from '../../../../gateway/jobs/model.js';
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
  type TestStore,
} from './stored-jobs.js';

/** The same in another order, always the same one. */
function shuffled<T>(items: readonly T[], step: number): T[] {
  return items.map((_, at) => items[(at * step) % items.length] as T);
}

describe('jobs/store of several processes', () =>
  onEachDatabase((database) => {
    const count = 60;
    let stores: TestStore[];
    let items: ItemRef[];
    let id: string;

    beforeEach(async () => {
      stores = [];
      for (let at = 0; at < 4; at += 1) stores.push(openJobStore(await database().connect()));
      const job = newJob({ webhook_url: 'https://a.example/' });
      id = job.id;
      items = refs(id, count);
      await stores[0]?.create(job, inputs(count));
    });

    /** What each process does, all at the same moment, with the items in an order of its own. */
    function each<T>(work: (store: TestStore, items: ItemRef[]) => Promise<T>): Promise<T[]> {
      return Promise.all(stores.map((store, at) => work(store, shuffled(items, [1, 7, 11, 13][at] ?? 1))));
    }

    it('ends and counts everything once', async () => {
      await each((store, mine) => store.start(mine));
      const ended = await each((store, mine) => store.finish(mine.map((item) => done(item))));
      expect(ended.flatMap(({ jobs }) => jobs).map((job) => job.id)).to.deep.equal([id]);
      // Each by one process, which is the one that counts it.
      const indexes = ended.flatMap((each) => each.items.map(({ index }) => index));
      expect(indexes).to.have.members(items.map(({ index }) => index));
      const [store] = stores as [TestStore];
      expect(await store.job('ten_1', id)).to.include({ total: count, started: count, done: count });
      expect(await counted(store)).to.include({ calls: count });
      expect(await deliveries(store)).to.have.length(1);
      expect(await store.stats()).to.deep.equal({ waiting: 0, running: 0, oldestWaitingAt: null });
    });

    it('agrees on an end where each says something else', async () => {
      const [one, other, canceller] = stores as [TestStore, TestStore, TestStore];
      await one.start(items.slice(0, 40));
      await Promise.all([
        one.finish(items.slice(0, 30).map((item) => done(item))),
        other.finish(shuffled(items.slice(10, 40), 7).map((item) => failed(item))),
        canceller.cancel('ten_1', id),
      ]);
      const job = await one.job('ten_1', id);
      expect(job).to.include({ cancelled: 20, finished_at: one.clock.now });
      expect((job?.done ?? 0) + (job?.failed ?? 0)).to.equal(40);
      const { rows } = await one.items(id, { limit: count });
      expect(rows.filter(({ state }) => state === 'done')).to.have.length(job?.done ?? -1);
      expect(await counted(one)).to.deep.equal({ calls: 40, errors: job?.failed });
      expect(await deliveries(one)).to.have.length(1);
    });

    it('keeps right counts while items begin, come back and are called off', async () => {
      const [one, other, canceller] = stores as [TestStore, TestStore, TestStore];
      await Promise.all([
        one.start(items).then((started) => one.handBack(started, { counted: false })),
        other.start(shuffled(items, 7)).then((started) => other.handBack(started, { counted: false })),
        canceller.cancel('ten_1', id),
      ]);
      // What came back too late is found again, and cancelled.
      await one.start(items);
      await one.finish(items.map((item) => done(item)));
      const job = await one.job('ten_1', id);
      expect((job?.done ?? 0) + (job?.cancelled ?? 0)).to.equal(count);
      expect(await counted(one)).to.include({ calls: job?.done });
      expect(await one.stats()).to.deep.equal({ waiting: 0, running: 0, oldestWaitingAt: null });
      expect(await deliveries(one)).to.have.length(1);
    });

    it('makes one job of one request, whichever process is asked, and refuses another with its key', async () => {
      const [store] = stores as [TestStore];
      const asked = (digest: string, tenant_id = 'ten_1') =>
        newJob({ tenant_id, idempotency: { key: 'again', digest } });
      const made = await each((store) => store.create(asked('d'), inputs(3)));
      expect(made.filter(({ outcome }) => outcome === 'created')).to.have.length(1);
      expect(new Set(made.map((each) => 'job' in each && each.job.id)).size).to.equal(1);
      expect(await store.create(asked('e'), inputs(1))).to.deep.equal({ outcome: 'conflict' });
      const found = ['d', 'e'].map((digest) => store.made('ten_1', { key: 'again', digest }, 0));
      const outcomes = (await Promise.all(found)).map((each) => each?.outcome);
      expect(outcomes).to.deep.equal(['replayed', 'conflict']);
      expect(await store.made('ten_2', { key: 'again', digest: 'd' }, 0)).to.equal(undefined);
      expect((await store.create(asked('e', 'ten_2'), inputs(1))).outcome).to.equal('created');
    });

    it('lets a tenant have no more than its bound, however many make jobs at once', async () => {
      const tenant_id = 'ten_bounded';
      const most = { inputs: 100, results: 1 };
      const make = (store: TestStore) => store.create(newJob({ tenant_id, bytes: 30 }), inputs(1), most);
      const made = await Promise.allSettled([...stores, ...stores, ...stores].map(make));
      const reasons = made.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
      expect(reasons).to.deep.equal(Array(made.length - 3).fill('tenant_busy'));
      expect(await stores[0]?.held(tenant_id)).to.include({ inputs: 90 });
    });

    it('counts what results hold, whichever process ends and forgets their jobs at once', async () => {
      const tenant_id = 'ten_counted';
      const store = stores[0] as TestStore;
      const made = Array.from({ length: 4 }, () => newJob({ tenant_id }));
      for (const job of made) await store.create(job, inputs(3));
      await each((store) => store.finish(made.flatMap(({ id }) => refs(id, 3)).map((item) => done(item))));
      expect(await store.held(tenant_id)).to.include({ results: 24 });
      await each(async (store) => {
        await Promise.all(made.slice(1).map(({ id }) => store.remove(id)));
        return store.create(newJob({ tenant_id, bytes: 1 }), inputs(1), { inputs: 1e9, results: 1e9 });
      });
      expect(await store.held(tenant_id)).to.include({ inputs: stores.length, results: 6 });
    });

    it('hands items of several jobs to the queue and ends them, in whichever order', async () => {
      const more = newJob();
      await stores[0]?.create(more, inputs(count));
      items = [...items, ...refs(more.id, count)];
      await each((store, mine) => store.queued(mine));
      expect(await stores[0]?.unqueued({ most: 10, ahead: 10, idleMs: 1_000 })).to.deep.equal([]);
      await each((store, mine) => store.finish(mine.map((item) => done(item))));
      expect(await counted(stores[0] as TestStore)).to.include({ calls: 2 * count });
      expect(await stores[0]?.openTenants()).to.deep.equal([]);
    });
  }));

const total = 4;
type ModelItem = Model['items'][number];

/** What a store should hold of one job, in a few lines. */
class Model {
  readonly items = Array.from({ length: total }, () => ({
    ...{ state: 'waiting' as ItemState, attempts: 0, queued: false },
  }));
  cancelled = false;

  open(at: number): ModelItem | undefined {
    const item = this.items[at];
    return item?.state === 'waiting' || item?.state === 'running' ? item : undefined;
  }

  count(state: ItemState): number {
    return this.items.filter((item) => item.state === state).length;
  }
}

const kinds = ['start', 'handBack', 'handBackLate', 'retry', 'finish', 'cancel', 'queued', 'forget'] as const;
type Step = [kind: (typeof kinds)[number], indexes: number[]];
const steps = fc.array(fc.tuple(fc.constantFrom(...kinds), fc.subarray([0, 1, 2, 3], { minLength: 1 })), {
  maxLength: 14,
});
/** Tried each time: what comes back after its job was cancelled, what the queue has of it, and what another process has started. */
const always = [
  'start 0, cancel 0, handBack 0, start 0',
  'queued 012, start 0, cancel 0, queued 01, finish 0',
  'start 0, start 0, handBackLate 0',
].map((steps) => steps.split(', ').map((step) => stepOf(...(step.split(' ') as [Step[0], string]))));

function stepOf(kind: Step[0], indexes: string): Step {
  return [kind, [...indexes].map(Number)];
}

async function doStep(store: TestStore, id: string, model: Model, [step, indexes]: Step) {
  const items = indexes.map((index) => ({ job: id, index }));
  const of = (is: (item: ModelItem) => boolean = () => true) =>
    indexes.flatMap((index) => model.open(index) ?? []).filter(is);
  if (step === 'start') {
    for (const item of of()) {
      if (item.state === 'waiting' && model.cancelled) item.state = 'cancelled';
      else Object.assign(item, { state: 'running', attempts: item.attempts + 1 });
    }
    const started = await store.start(items);
    const running = indexes.filter((index) => model.items[index]?.state === 'running');
    expect(started.map(({ index, attempt }) => [index, attempt])).to.deep.equal(
      running.map((index) => [index, model.items[index]?.attempts]),
    );
  } else if (step === 'handBack' || step === 'retry' || step === 'handBackLate') {
    const counted = step === 'retry';
    const isLate = step === 'handBackLate';
    const attempt = (index: number) => (model.items[index]?.attempts ?? 0) - (isLate ? 1 : 0);
    const started = items.map((item) => ({ ...item, attempt: attempt(item.index) }));
    await store.handBack(started, { counted });
    if (isLate) return;
    for (const item of of(({ state }) => state === 'running'))
      Object.assign(item, { state: 'waiting', attempts: item.attempts - (counted ? 0 : 1) });
  } else if (step === 'finish') {
    const open = indexes.filter((index) => model.open(index));
    for (const item of of()) item.state = 'done';
    const ended = await store.finish(items.map((item) => done(item)));
    expect(ended.items.map(({ index }) => index)).to.deep.equal(open);
  } else if (step === 'cancel') {
    const ended = model.items.every((_, index) => !model.open(index));
    if (!ended && !model.cancelled) {
      model.cancelled = true;
      for (const item of model.items) if (item.state === 'waiting') item.state = 'cancelled';
    }
    await store.cancel('ten_1', id);
  } else if (step === 'queued') {
    for (const item of of()) item.queued = true;
    expect(await store.queued(items)).to.deep.equal(items.filter(({ index }) => !model.open(index)));
  } else {
    store.clock.now += 1_001;
    const open = model.items.filter((_, index) => model.open(index));
    for (const item of open) item.queued = false;
    const found = await store.unqueued({ most: 100, ahead: 100, idleMs: 1_000 });
    const expected = refs(id, total).filter(({ index }) => model.open(index)?.queued === false);
    expect(found.flatMap((each) => each.items)).to.deep.equal(expected);
  }
}

async function compare(store: TestStore, id: string, model: Model): Promise<void> {
  const { rows } = await store.items(id, { limit: total });
  expect(rows.map(({ state }) => state)).to.deep.equal(model.items.map(({ state }) => state));
  const open = model.count('waiting') + model.count('running');
  const job = await store.job('ten_1', id);
  expect(job).to.include({
    ...{ done: model.count('done'), failed: 0, cancelled: model.count('cancelled') },
    started: model.items.filter(({ attempts }) => attempts > 0).length,
  });
  expect(job?.finished_at === null).to.equal(open > 0);
  const [waiting, running] = [model.count('waiting'), model.count('running')];
  expect(await store.stats()).to.include({ waiting, running });
  expect(await counted(store)).to.include({ calls: model.count('done') });
  const types = (await deliveries(store)).map(({ payload }) => payload.type);
  expect(types).to.deep.equal(open > 0 ? [] : [model.count('cancelled') > 0 ? 'job.cancelled' : 'job.done']);
  const all = refs(id, total);
  expect(await store.open(all)).to.have.deep.members(all.filter(({ index }) => model.open(index)));
  const isCancelled = ({ state, queued }: ModelItem) => state === 'cancelled' && queued;
  const cancelled = all.filter(({ index }) => isCancelled(model.items[index] as ModelItem));
  expect(await store.cancelled(id)).to.have.deep.members(cancelled);
  expect(await store.openTenants()).to.deep.equal(open > 0 ? ['ten_1'] : []);
}

async function clear({ access }: TestStore): Promise<void> {
  await access.change(async (trx) => {
    for (const table of ['jobs', 'usage_daily', 'webhook_deliveries'] as const)
      await trx.deleteFrom(table).execute();
  });
}

describe('jobs/store, whatever is asked in whichever order', () =>
  onEachDatabase((database) => {
    it('holds what a list of items would', async () => {
      const store = openJobStore(await database().connect());
      await fc.assert(
        fc.asyncProperty(steps, async (given) => {
          await clear(store);
          const job = newJob({ webhook_url: 'https://a.example/' });
          await store.create(job, inputs(total));
          const model = new Model();
          for (const step of given) await doStep(store, job.id, model, step);
          await compare(store, job.id, model);
        }),
        { numRuns: Number(process.env.TEST_STORE_RUNS ?? 15), examples: always.map((each) => [each]) },
      );
    });
  }));
