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

const jobOf = (name: string, behind: boolean, weight = 1) =>
  freeJob({ tenant: name, weight, most: null, behind });

describe('tasks in two classes', () => {
  it('run in their own queue’s order, whatever comes before its time', () => {
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
              job: jobOf(one.push, one.behind, one.weight),
            };
            pushed.push(each);
            ofJob.set(each.job, each);
            classes.push(each.job);
            (one.behind ? behind : calls).push(one.push, each.job, one.weight);
          } else if ('take' in one) {
            const callsWait = calls.size > 0;
            const next = classes.take();
            const taken = next && ofJob.get(next.job);
            const mayCall = (name: string) => !stopped.has(name);
            if (!taken) {
              expect(calls.shift(estimate, mayCall)).to.equal(undefined);
              expect(behind.size).to.equal(0);
            } else if (!taken.behind) expect(calls.shift(estimate, mayCall)?.item).to.equal(next.job);
            else {
              // Beside calls it may come before other tenants' tasks, but not before an older one of its own.
              const inOrder = callsWait ? undefined : behind.shift(estimate, () => true);
              const its = inOrder ?? behind.shift(estimate, () => true, taken.tenant);
              expect(its?.tenant).to.equal(taken.tenant);
              expect(its?.item).to.equal(next.job);
            }
            if (next && taken) running.push({ settle: next.settle, one: taken });
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

  /** What each had of the time of one thread for which calls of `client` wait all the time, and of those behind `items` each. */
  function serve(
    items: Record<string, number>,
    {
      ms,
      until = 100_000,
      weights = {},
      calls = true,
    }: {
      ms: (name: string) => number;
      until?: number;
      weights?: Record<string, number>;
      calls?: boolean;
    },
  ) {
    // The estimate is wrong for all of them at first, as it is for new tasks.
    const classes = new TwoClasses(() => 50);
    const had: Record<string, number> = {};
    /** When tasks behind began. */
    const began: { name: string; at: number }[] = [];
    const left = { ...items };
    const push = (name: string) => {
      if (!left[name]) return;
      left[name] -= 1;
      classes.push(jobOf(name, true, weights[name]));
    };
    for (const name of Object.keys(items)) push(name);
    let now = 0;
    while (now < until) {
      if (calls) while (classes.calls.size < 8) classes.push(jobOf('client', false));
      const next = classes.take();
      if (!next) break;
      const { tenant: name } = next.job.asker;
      if (name !== 'client') began.push({ name, at: now });
      const spent = ms(name);
      now += spent;
      next.settle(spent);
      had[name] = (had[name] ?? 0) + spent;
      if (name !== 'client') push(name);
    }
    return { had, began, now };
  }

  const many = Number.POSITIVE_INFINITY;

  it('leave tasks behind a twentieth of the time while calls wait, and no more', () => {
    for (const [call, item] of [
      [20, 20],
      [100, 5],
      [5, 100],
    ]) {
      const { had, now } = serve({ a: many }, { ms: (name) => (name === 'client' ? call : item) as number });
      expect((had.a ?? 0) / now, `${call} ${item}`).to.be.within(0.049, 0.052);
    }
  });

  it('start the first task behind after one call, and the next ones evenly', () => {
    const { began } = serve({ a: 20 }, { ms: () => 20 });
    expect(began).to.have.length(20);
    expect(began[0]?.at).to.be.at.most(20);
    // 20 ms of 400: the pauses are as long as that, once their length is known.
    for (const [at, { at: time }] of began.entries())
      if (at > 1) expect(time - (began[at - 1]?.at ?? 0)).to.be.within(300, 500);
  });

  it('give each of several tenants its share, however long the others’ tasks take and whatever its weight', () => {
    const weights = { a: 1, b: 100, c: 1 };
    const { had, now, began } = serve(
      { a: many, b: many, c: many },
      { ms: (name) => (name === 'b' ? 5_000 : 20), weights, until: 400_000 },
    );
    for (const name of ['a', 'c']) expect((had[name] ?? 0) / now, name).to.be.within(0.045, 0.06);
    expect((had.b ?? 0) / now).to.be.within(0.03, 0.07);
    // While one of those long ones is paid for, the others' short ones go on.
    const times = began.filter(({ name }) => name === 'a').map(({ at }) => at);
    for (const [at, time] of times.entries())
      if (at > 2) expect(time - (times[at - 1] ?? 0)).to.be.at.most(11_000);
  });

  it('leave calls half of the time, however many tenants have tasks behind', () => {
    const tenants = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`t${at}`, many]));
    const { had, now } = serve(tenants, { ms: () => 10 });
    expect((had.client ?? 0) / now).to.be.within(0.49, 0.52);
  });

  it('save up next to nothing: neither time in which nothing waited, nor time in which no call did', () => {
    const classes = new TwoClasses(() => 10);
    const run = () => {
      const next = classes.take();
      next?.settle(10);
      return next?.job.asker.tenant;
    };
    for (const name of ['client', 'a']) {
      for (let at = 0; at < 1_000; at += 1) {
        classes.push(jobOf(name, name === 'a'));
        run();
      }
    }
    for (let at = 0; at < 10; at += 1) classes.push(jobOf('a', true));
    for (let at = 0; at < 30; at += 1) classes.push(jobOf('client', false));
    const order = Array.from({ length: 30 }, run);
    expect(order.filter((name) => name === 'a').length).to.be.within(1, 7);
  });
});
