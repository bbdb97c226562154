import { expect } from 'chai';
import fc from 'fast-check';
import { SlowedHelpers } from '../../pool/costs.js';
import type { Job } from '../../pool/group.js';
import { TwoClasses } from '../../pool/two-classes.js';
import { PlainFairQueue } from './plain-fair-queue.js';

const tenant = fc.constantFrom('a', 'b', 'c', 'd');
const milliseconds = fc.integer({ min: 0, max: 100 });
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      push: tenant,
      weight: fc.integer({ min: 1, max: 5 }),
      behind: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ take: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ settle: fc.nat(), spent: milliseconds }) },
  fc.record({ remove: fc.nat() }),
  fc.record({ stop: tenant }),
  fc.record({ go: tenant }),
);

const estimate = 10;

interface Pushed {
  tenant: string;
  behind: boolean;
  job: Job;
}

function freeJob(asker: Job['asker']): Job {
  const threads = { isFree: () => true, refusal: () => undefined };
  return { asker, task: {}, group: { threads, slowed: new SlowedHelpers() } } as unknown as Job;
}

describe('tasks in two classes beside plain queues', () => {
  it('run in their own queue’s order, and none behind while a call may start', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const stopped = new Set<string>();
        const pushed: Pushed[] = [];
        const ofJob = new Map<Job, Pushed>();
        const classes = new TwoClasses(
          () => estimate,
          (name) => (stopped.has(name) ? 'own' : undefined),
        );
        const calls = new PlainFairQueue<Job>();
        const behind = new PlainFairQueue<Job>();
        const running: { settle: (spent: number) => void; one: Pushed }[] = [];
        for (const one of steps) {
          if ('push' in one) {
            const each = {
              tenant: one.push,
              behind: one.behind,
              job: freeJob({ tenant: one.push, weight: one.weight, most: null, behind: one.behind }),
            };
            pushed.push(each);
            ofJob.set(each.job, each);
            classes.push(each.job);
            (one.behind ? behind : calls).push(one.push, each.job, one.weight);
          } else if ('take' in one) {
            const next = classes.take();
            const plain =
              calls.shift(estimate, (name) => !stopped.has(name)) ?? behind.shift(estimate, () => true);
            expect(next?.job).to.equal(plain?.item);
            if (next) running.push({ settle: next.settle, one: ofJob.get(next.job) as Pushed });
          } else if ('settle' in one) {
            const [ended] = running.splice(one.settle % (running.length || 1), 1);
            if (!ended) continue;
            ended.settle(one.spent);
            (ended.one.behind ? behind : calls).settle(ended.one.tenant, estimate, one.spent);
          } else if ('remove' in one && pushed.length > 0) {
            const each = pushed[one.remove % pushed.length] as Pushed;
            const removed = (each.behind ? behind : calls).remove(each.tenant, each.job);
            expect(classes.remove(each.job)).to.equal(removed);
          } else if ('stop' in one) stopped.add(one.stop);
          else if ('go' in one) {
            stopped.delete(one.go);
            classes.calls.look(one.go);
          }
          expect(classes.size).to.equal(calls.size + behind.size);
        }
      }),
      { numRuns: 200 },
    );
  });
});
