import { expect } from 'chai';
import fc from 'fast-check';
import type { ItemState } from '../../../../gateway/jobs/model.js';
import { onEachDatabase } from '../../databases.js';
import { counted, deliveries, done, inputs, newJob, openJobStore, type TestStore } from './stored-jobs.js';

const total = 4;

/** An item as it should be. */
interface ModelItem {
  state: ItemState;
  attempts: number;
  queued: boolean;
}

/** What a store should hold of one job, in a few lines. */
class Model {
  readonly items: ModelItem[] = Array.from({ length: total }, () => ({
    ...{ state: 'waiting', attempts: 0, queued: false },
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

const at = fc.subarray(
  Array.from({ length: total }, (_, index) => index),
  { minLength: 1 },
);
const steps = fc.array(
  fc.tuple(fc.constantFrom('start', 'handBack', 'retry', 'finish', 'cancel', 'queued', 'forget'), at),
  { maxLength: 14 },
);

async function doStep(store: TestStore, id: string, model: Model, [step, indexes]: [string, number[]]) {
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
  } else if (step === 'handBack' || step === 'retry') {
    const counted = step === 'retry';
    await store.handBack(
      items.map((item) => ({ ...item, attempt: model.items[item.index]?.attempts ?? 0 })),
      { counted },
    );
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
    await store.queued(items);
  } else {
    store.clock.now += 1_001;
    const open = model.items.filter((_, index) => model.open(index));
    for (const item of open) item.queued = false;
    const found = await store.unqueued({ most: 100, ahead: 100, idleMs: 1_000 });
    const expected = model.items.flatMap((item, index) =>
      model.open(index) && !item.queued ? [{ job: id, index }] : [],
    );
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
  expect(await store.stats()).to.include({
    waiting: model.count('waiting'),
    running: model.count('running'),
  });
  expect(await counted(store)).to.include({ calls: model.count('done') });
  expect(await deliveries(store)).to.have.length(open > 0 ? 0 : 1);
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
        { numRuns: Number(process.env.TEST_STORE_RUNS ?? 15) },
      );
    });
  }));
