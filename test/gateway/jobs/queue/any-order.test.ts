import { expect } from 'chai';
import fc from 'fast-check';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { type QueuePlace, queuePlaces } from './queues.js';

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
              const rest = await (queues[0] as JobQueue).take(tenant, 99);
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
  if (step.does === 'take') return model.take(by, await queue.take(tenant, step.most), step.most);
  const held = model.held[by] ?? [];
  const some = held.slice(0, step.most);
  if (step.does === 'extend') return void expect(await queue.extend(some)).to.deep.equal([]);
  await (step.does === 'done' ? queue.done(some) : queue.release(some));
  model.held[by] = held.slice(some.length);
  if (step.does === 'release') for (const { index } of some) model.front.add(index);
}
