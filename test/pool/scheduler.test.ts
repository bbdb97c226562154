import { expect } from 'chai';
import fc from 'fast-check';
import { Admission, type Release } from '../../pool/admission.js';
import { FairQueue } from '../../pool/fair-queue.js';
import { createPool } from '../../pool/pool.js';
import { Costs, type Job, Scheduler, type SchedulerOptions } from '../../pool/scheduler.js';
import type { CallTask } from '../../pool/task.js';
import { until } from '../needs.js';
import { PlainFairQueue } from './plain-fair-queue.js';
import { callTask, workerSettings } from './worker-settings.js';

const tenant = fc.constantFrom('a', 'b', 'c', 'd');
const milliseconds = fc.integer({ min: 0, max: 100 });
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      push: tenant,
      weight: fc.integer({ min: 1, max: 5 }),
      background: fc.boolean(),
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
  background: boolean;
  job: Job;
}

const jobOf = (tenant: string, background: boolean, weight = 1) =>
  ({ requester: { tenant, weight, most: null, background }, task: {} }) as unknown as Job;

/** Of tasks that may start whenever a thread is free. */
const schedulerOf = (ms: number, stopOf?: SchedulerOptions['stopOf']) =>
  new Scheduler({ estimate: () => ms, canStart: () => true, refusal: () => undefined, stopOf });

describe('tasks in two classes', () => {
  it('run in their own queue’s order, whatever comes before its time', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const stopped = new Set<string>();
        const pushed: Pushed[] = [];
        const ofJob = new Map<Job, Pushed>();
        const classes = schedulerOf(estimate, (name) => (stopped.has(name) ? 'own' : undefined));
        const calls = new PlainFairQueue<Job>();
        const background = new PlainFairQueue<Job>();
        const running: { settle: (spent: number) => void; one: Pushed }[] = [];
        for (const one of steps) {
          if ('push' in one) {
            const each = {
              tenant: one.push,
              background: one.background,
              job: jobOf(one.push, one.background, one.weight),
            };
            pushed.push(each);
            ofJob.set(each.job, each);
            classes.push(each.job);
            (one.background ? background : calls).push(one.push, each.job, one.weight);
          } else if ('take' in one) {
            const callsWait = calls.size > 0;
            const next = classes.take();
            const taken = next && ofJob.get(next.job);
            const mayCall = (name: string) => !stopped.has(name);
            if (!taken) {
              expect(calls.shift(estimate, mayCall)).to.equal(undefined);
              expect(background.size).to.equal(0);
            } else if (!taken.background) expect(calls.shift(estimate, mayCall)?.item).to.equal(next.job);
            else {
              // Beside calls it may come before other tenants' tasks, but not before an older one of its own.
              const inOrder = callsWait ? undefined : background.shift(estimate, () => true);
              const its = inOrder ?? background.shift(estimate, () => true, taken.tenant);
              expect(its?.tenant).to.equal(taken.tenant);
              expect(its?.item).to.equal(next.job);
            }
            if (next && taken) running.push({ settle: next.settle, one: taken });
          } else if ('settle' in one) {
            const [ended] = running.splice(one.settle % (running.length || 1), 1);
            if (!ended) continue;
            ended.settle(one.spent);
            (ended.one.background ? background : calls).settle(ended.one.tenant, estimate, one.spent);
          } else if ('remove' in one && pushed.length > 0) {
            const each = pushed[one.remove % pushed.length] as Pushed;
            const removed = (each.background ? background : calls).remove(each.tenant, each.job);
            expect(classes.remove(each.job)).to.equal(removed);
          } else if ('stop' in one) stopped.add(one.stop);
          else if ('go' in one) {
            stopped.delete(one.go);
            classes.calls.look(one.go);
          }
          expect(classes.size).to.equal(calls.size + background.size);
        }
      }),
      { numRuns: 200 },
    );
  });

  /** What each had of the time of one thread for which calls of `client` wait all the time, and of those background `items` each. */
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
    const classes = schedulerOf(50);
    const had: Record<string, number> = {};
    /** When background tasks began. */
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
      const { tenant: name } = next.job.requester;
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

  it('leave background tasks a twentieth of the time while calls wait, and no more', () => {
    for (const [call, item] of [
      [20, 20],
      [100, 5],
      [5, 100],
    ]) {
      const { had, now } = serve({ a: many }, { ms: (name) => (name === 'client' ? call : item) as number });
      expect((had.a ?? 0) / now, `${call} ${item}`).to.be.within(0.049, 0.052);
    }
  });

  it('start the first background task after one call, and the next ones evenly', () => {
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

  it('leave calls half of the time, however many tenants have background tasks', () => {
    const tenants = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`t${at}`, many]));
    const { had, now } = serve(tenants, { ms: () => 10 });
    expect((had.client ?? 0) / now).to.be.within(0.49, 0.52);
  });

  it('save up next to nothing: neither time in which nothing waited, nor time in which no call did', () => {
    const classes = schedulerOf(10);
    const run = () => {
      const next = classes.take();
      next?.settle(10);
      return next?.job.requester.tenant;
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

const msOf = { png: 60, avif: 720 };

interface Item {
  task: CallTask;
  asked: number;
  release: Release;
}

interface Running extends Item {
  tenant: string;
  estimate: number;
  ends: number;
}

/** The pool's queue, places and costs over threads whose time is only counted. */
function world({ threads, queue: places }: { threads: number; queue: number }) {
  const admission = new Admission(threads + places);
  const queue = new FairQueue<Item>();
  const costs = new Costs();
  const running = new Set<Running>();
  const spent = new Map<string, number>();
  const waits: { tenant: string; ms: number }[] = [];
  let now = 0;

  function start(): void {
    while (running.size < threads) {
      const next = queue.shift(({ task }) => costs.estimate(task));
      if (!next) return;
      const ms = msOf[next.item.task.variant as keyof typeof msOf];
      waits.push({ tenant: next.tenant, ms: now - next.item.asked });
      const { tenant, item } = next;
      running.add({ ...item, tenant, estimate: costs.estimate(item.task), ends: now + ms });
    }
  }

  return {
    admission,
    spent,
    waits,
    running,
    get now() {
      return now;
    },
    ask(tenant: string, variant: keyof typeof msOf): boolean {
      const task = { ...callTask('border'), variant };
      const release = admission.acquire({ tenant, weight: 1, most: null }, costs.slots(task));
      if (typeof release === 'string') return false;
      queue.push(tenant, { task, asked: now, release });
      start();
      return true;
    },
    /** Goes on to when the next task ends. */
    step(): void {
      const [first] = [...running].sort((a, b) => a.ends - b.ends);
      if (!first) return;
      running.delete(first);
      now = first.ends;
      const ms = msOf[first.task.variant as keyof typeof msOf];
      spent.set(first.tenant, (spent.get(first.tenant) ?? 0) + ms);
      costs.learn(first.task, ms, true);
      queue.settle(first.tenant, first.estimate, ms);
      first.release();
      start();
    },
  };
}

describe('a tenant that floods the pool with heavy calls', () => {
  it('gets no more than its share of the time beside one that asks for light ones', () => {
    const pool = world({ threads: 2, queue: 64 });
    for (let steps = 0; steps < 1500; steps += 1) {
      while (pool.ask('heavy', 'avif'));
      while (pool.ask('light', 'png'));
      pool.step();
    }
    const [heavy = 0, light = 0] = ['heavy', 'light'].map((tenant) => pool.spent.get(tenant));
    expect(heavy / light).to.be.closeTo(1, 0.1);
  });

  it('has one call started, and not one on every thread, while another tenant’s wait', () => {
    const pool = world({ threads: 4, queue: 64 });
    for (const variant of ['png', 'avif'] as const) {
      pool.ask('first', variant);
      pool.step();
    }
    for (let i = 0; i < 4; i += 1) pool.ask('first', 'png');
    for (let i = 0; i < 4; i += 1) pool.ask('heavy', 'avif');
    for (let i = 0; i < 30; i += 1) pool.ask('light', 'png');
    for (let i = 0; i < 12; i += 1) pool.step();
    expect([...pool.running].filter(({ tenant }) => tenant === 'heavy')).to.have.length(1);
  });

  it('keeps a quiet tenant’s light calls waiting for a running one to end, and no longer', () => {
    const pool = world({ threads: 2, queue: 64 });
    for (let steps = 0; steps < 600; steps += 1) {
      while (pool.ask('heavy', 'avif'));
      if (steps % 5 === 0) expect(pool.ask('quiet', 'png')).to.equal(true);
      pool.step();
    }
    const quiet = pool.waits.filter(({ tenant }) => tenant === 'quiet').map(({ ms }) => ms);
    expect(quiet).to.have.length.above(100);
    expect(Math.max(...quiet)).to.be.at.most(msOf.avif);
  });

  it('fills the places with few of them once it is known what they cost', () => {
    const pool = world({ threads: 2, queue: 64 });
    for (const variant of ['png', 'avif'] as const) {
      pool.ask('heavy', variant);
      pool.step();
    }
    let taken = 0;
    while (pool.ask('heavy', 'avif')) taken += 1;
    // 66 places, and seven for each: 720 ms beside 100.
    expect(taken).to.equal(10);
    let light = 0;
    while (pool.ask('light', 'png')) light += 1;
    expect(light).to.equal(33);
  });
});

describe('the pool', () => {
  it('counts a call that is known to be heavy for several places', async () => {
    // A machine that stalls may take as long for what is light: then nothing is known to be heavy.
    const { pool, run, each } = await until(async () => {
      const pool = createPool({ threads: 1, queue: 9, worker: workerSettings });
      await pool.start();
      const run = (variant: string, ms: number) =>
        pool.ticket({ tenant: 'a', weight: 1, most: null }).run({ ...callTask('sleep', { ms }), variant });
      const light = await run('light', 1);
      const heavy = await run('heavy', 1000);
      // By what they took, which is more on a busy machine.
      const each = Math.min(16, Math.round(heavy.ms / Math.max(100, light.ms)));
      if (each > 1) return { pool, run, each };
      await pool.close();
      return undefined;
    });
    const all = Array.from({ length: 10 }, () =>
      run('heavy', 0).then(
        () => 'done',
        ({ code }) => code,
      ),
    );
    expect(pool.stats().places).to.be.greaterThan(9);
    const ends = await Promise.all(all);
    const taken = ends.filter((end) => end === 'done').length;
    expect(ends.filter((end) => end === 'busy')).to.have.length(10 - taken);
    // What the pool measured may round to one more or less than what the outcomes say.
    expect(taken).to.be.within(Math.ceil(10 / (each + 1)), Math.ceil(10 / (each - 1)));
    expect(pool.stats().places).to.equal(0);
    await pool.close();
  });
});
