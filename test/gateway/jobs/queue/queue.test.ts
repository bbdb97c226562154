import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { until } from '../../../needs.js';
import { createPulse, type QueuePlace, queuePlaces } from './queues.js';

/** Items of a job, by index. */
const items = (job: string, ...indexes: number[]) => indexes.map((index) => ({ job, index }));
const names = (leases: readonly Lease[]) => leases.map(({ job, index }) => `${job}/${index}`);
const many = (job: string, count: number) => Array.from({ length: count }, (_, index) => ({ job, index }));

function queueTests(create: () => Promise<QueuePlace>): void {
  let place: QueuePlace;
  let queue: JobQueue;
  before(async () => {
    place = await create();
  });
  beforeEach(async () => {
    queue = await place.open();
  });
  afterEach(() => place.clear());
  after(() => place?.drop());

  it('gives items in the order in which they were added', async () => {
    await queue.add('acme', items('job_b', 0, 1, 2));
    await queue.add('acme', items('job_a', 0));
    expect(names(await queue.lease('acme', 2))).to.deep.equal(['job_b/0', 'job_b/1']);
    expect(names(await queue.lease('acme', 9))).to.deep.equal(['job_b/2', 'job_a/0']);
    expect(await queue.lease('acme', 9)).to.deep.equal([]);
  });

  it('keeps tenants apart', async () => {
    await queue.add('acme', items('job_a', 0));
    await queue.add('zeta', items('job_z', 0));
    expect(names(await queue.lease('zeta', 9))).to.deep.equal(['job_z/0']);
    expect(await queue.lease('nobody', 9)).to.deep.equal([]);
    expect(names(await queue.lease('acme', 9))).to.deep.equal(['job_a/0']);
  });

  it('adds an item once, though it is added again while it waits and while it is leased', async () => {
    await queue.add('acme', items('job_a', 0, 1));
    await queue.add('acme', items('job_a', 0, 1, 2, 2));
    const leases = await queue.lease('acme', 2);
    await queue.add('acme', items('job_a', 0, 1, 2));
    expect(names(await queue.lease('acme', 9))).to.deep.equal(['job_a/2']);
    expect(await queue.extend(leases)).to.deep.equal([]);
  });

  it('takes an item out for good, and in again where it is added again', async () => {
    await queue.add('acme', items('job_a', 0));
    await queue.done(await queue.lease('acme', 9));
    expect(await queue.lease('acme', 9)).to.deep.equal([]);
    await queue.add('acme', items('job_a', 0));
    expect(names(await queue.lease('acme', 9))).to.deep.equal(['job_a/0']);
  });

  it('never gives two processes the same item', async () => {
    const other = await place.open();
    await queue.add('acme', many('job_a', 200));
    const taken: string[] = [];
    async function takeAll(from: JobQueue): Promise<void> {
      for (;;) {
        const leases = await from.lease('acme', 7);
        if (leases.length === 0) return;
        taken.push(...names(leases));
        await from.done(leases);
      }
    }
    await Promise.all([takeAll(queue), takeAll(other), takeAll(queue), takeAll(other)]);
    expect(taken).to.have.lengthOf(200);
    expect(new Set(taken)).to.have.lengthOf(200);
  });

  it('gives back what is released, before all others', async () => {
    const other = await place.open();
    await queue.add('acme', items('job_a', 0, 1, 2));
    await queue.release(await queue.lease('acme', 1));
    expect(names(await other.lease('acme', 1))).to.deep.equal(['job_a/0']);
    expect(names(await other.lease('acme', 9))).to.deep.equal(['job_a/1', 'job_a/2']);
  });

  it('keeps back what is released for a while', async () => {
    await queue.add('acme', items('job_a', 0, 1));
    await queue.release(await queue.lease('acme', 1), 300_000);
    const leases = await queue.lease('acme', 9);
    expect(names(leases)).to.deep.equal(['job_a/1']);
    await queue.release(leases, 30);
    expect(names(await until(() => taken(queue)))).to.deep.equal(['job_a/1']);
  });

  it('gives what is released for later in its old place, before what was added behind it', async () => {
    await queue.add('acme', items('job_a', 0, 1));
    await queue.release(await queue.lease('acme', 1), 30);
    await queue.add('acme', many('job_b', 30));
    await sleep(100);
    const seen: string[] = [];
    await until(async () => {
      seen.push(...names(await queue.lease('acme', 1)));
      return seen.includes('job_a/0');
    });
    expect(seen.length).to.be.below(31);
  });

  it('gives what was lost in its old place', async () => {
    const brief = await place.open({ leaseMs: 50 });
    await queue.add('acme', items('job_a', 0, 1));
    await brief.lease('acme', 1);
    await queue.add('acme', items('job_b', 0, 1));
    await until(async () => {
      await brief.recover('acme');
      const leases = await queue.lease('acme', 1);
      await queue.release(leases);
      return names(leases)[0] === 'job_a/0';
    });
    // One at a time: what is taken together comes in the order in which the backend's connections answer.
    const seen: string[] = [];
    for (let at = 0; at < 5; at += 1) seen.push(...names(await queue.lease('acme', 1)));
    expect(seen).to.deep.equal(['job_a/0', 'job_a/1', 'job_b/0', 'job_b/1']);
  });

  it('takes out what waits of the items that it is given, and leaves what is leased', async () => {
    await queue.add('acme', items('job_a', 0, 1, 2));
    await queue.add('acme', items('job_b', 0));
    const leases = await queue.lease('acme', 1);
    await queue.remove('acme', items('job_a', 0, 1, 2, 3));
    expect(names(await queue.lease('acme', 9))).to.deep.equal(['job_b/0']);
    expect(await queue.extend(leases)).to.deep.equal([]);
    await queue.done(leases);
  });

  it('passes over leases that were lost', async () => {
    const brief = await place.open({ leaseMs: 50 });
    await queue.add('acme', items('job_a', 0));
    const lost = await brief.lease('acme', 1);
    const leases = await until(() => taken(queue, brief));
    await brief.done(lost);
    await brief.release(lost);
    await brief.release(lost, 10);
    expect(await brief.extend(lost)).to.deep.equal(lost);
    expect(await queue.extend(leases)).to.deep.equal([]);
    expect(await queue.lease('acme', 1)).to.deep.equal([]);
    await queue.done(leases);
    expect(await brief.extend(lost)).to.deep.equal(lost);
  });

  it('leaves an item to whoever prolongs its lease', async () => {
    const leaseMs = 200;
    const brief = await place.open({ leaseMs });
    let tries = 0;

    async function attempt(): Promise<boolean> {
      tries += 1;
      const job = `job_${tries}`;
      await queue.add('acme', items(job, 0, 1));
      const [kept, left] = await brief.lease('acme', 2);
      if (!kept || !left) throw new Error('two were added');
      const pulse = createPulse();
      const others: Lease[] = [];
      const lost: Lease[] = [];
      while (others.length === 0 || pulse.ms() < 500) {
        lost.push(...(await brief.extend([kept, ...others])));
        pulse.beat();
        others.push(...((await taken(queue, brief)) ?? []));
      }
      await queue.done([kept, ...others]);
      // A machine that stalled for as long has lost it rightly.
      if (pulse.longest() > leaseMs / 2) return false;
      expect(lost).to.deep.equal([]);
      expect(names(others)).to.deep.equal(names([left]));
      return true;
    }
    await until(attempt);
  });

  it('leaves nothing of what was done', async () => {
    await queue.add('acme', items('job_warm', 0));
    await queue.done(await queue.lease('acme', 1));
    const before = await place.left();
    await queue.add('acme', many('job_a', 30));
    await queue.release(await queue.lease('acme', 5));
    await queue.release(await queue.lease('acme', 10), 1);
    for (let gone = 0; gone < 30; ) {
      const leases = await queue.lease('acme', 20);
      await queue.done(leases);
      gone += leases.length;
    }
    expect(await place.left()).to.equal(before);
  });

  async function taken(by: JobQueue, recoverer = by): Promise<Lease[] | undefined> {
    await recoverer.recover('acme');
    const leases = await by.lease('acme', 9);
    return leases.length > 0 ? leases : undefined;
  }
}

describe('job queue', () => {
  for (const { name, require, create } of queuePlaces) {
    describe(`on ${name}`, () => {
      before(require);
      queueTests(create);
    });
  }
});

/** What one of two processes does; `most` says to how many of those that it holds. */
type Step =
  | { does: 'add'; indexes: number[] }
  | { does: 'take' | 'done' | 'release' | 'extend'; most: number };

const step = fc.record({
  by: fc.nat(1),
  tenant: fc.constantFrom('a', 'b'),
  what: fc.oneof(
    fc.record({
      does: fc.constant('add' as const),
      indexes: fc.array(fc.nat(12), { minLength: 1, maxLength: 6 }),
    }),
    fc.record({
      does: fc.constantFrom('take' as const, 'done' as const, 'release' as const, 'extend' as const),
      most: fc.nat(4),
    }),
  ) as fc.Arbitrary<Step>,
});

/** What a tenant's queue should hold. */
class Model {
  /** Come back: before all others, among themselves in no order. */
  front = new Set<number>();
  back: number[] = [];
  held: Lease[][] = [[], []];

  add(indexes: readonly number[]): void {
    for (const index of indexes) if (!this.has(index)) this.back.push(index);
  }

  has(index: number): boolean {
    const leased = this.held.flat().some((lease) => lease.index === index);
    return leased || this.front.has(index) || this.back.includes(index);
  }

  take(by: number, leases: readonly Lease[], most: number): void {
    const indexes = leases.map(({ index }) => index);
    const first = indexes.filter((index) => this.front.delete(index));
    expect(first).to.have.lengthOf(Math.min(most, first.length + this.front.size));
    const next = this.back.splice(0, most - first.length);
    expect(indexes.filter((index) => !first.includes(index))).to.have.members(next);
    this.held[by]?.push(...leases);
  }
}

describe('job queue, whatever is done in whatever order', () => {
  for (const { name, require, create } of queuePlaces) {
    it(`gives each item to one process at a time, and all of them, on ${name}`, async function () {
      await require.call(this);
      const place: QueuePlace = await create();
      const queues = [await place.open(), await place.open()];
      let run = 0;
      try {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 30 }), async (steps) => {
            run += 1;
            const models = new Map<string, Model>();
            for (const { by, tenant, what } of steps) {
              const own = `${tenant}_${run}`;
              const model = models.get(own) ?? new Model();
              models.set(own, model);
              await doStep(queues[by] as JobQueue, own, model, by, what);
            }
            for (const [tenant, model] of models) {
              const rest = await (queues[0] as JobQueue).lease(tenant, 99);
              model.take(0, rest, 99);
              expect([model.front.size, model.back]).to.deep.equal([0, []]);
            }
          }),
          { numRuns: name === 'PostgreSQL' ? 6 : 25 },
        );
      } finally {
        await place.drop();
      }
    }).timeout(30_000);
  }
});

async function doStep(queue: JobQueue, tenant: string, model: Model, by: number, step: Step): Promise<void> {
  if (step.does === 'add') {
    await queue.add(
      tenant,
      step.indexes.map((index) => ({ job: `job_${tenant}`, index })),
    );
    return model.add(step.indexes);
  }
  if (step.does === 'take') return model.take(by, await queue.lease(tenant, step.most), step.most);
  const held = model.held[by] ?? [];
  const some = held.slice(0, step.most);
  if (step.does === 'extend') return void expect(await queue.extend(some)).to.deep.equal([]);
  await (step.does === 'done' ? queue.done(some) : queue.release(some));
  model.held[by] = held.slice(some.length);
  if (step.does === 'release') for (const { index } of some) model.front.add(index);
}
