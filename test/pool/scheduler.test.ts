import { expect } from 'chai';
import fc from 'fast-check';
import { Admission, type Release } from '../../pool/admission.js';
import { Costs } from '../../pool/costs.js';
import { type Job, type ScheduledTask, Scheduler, type SchedulerOptions } from '../../pool/scheduler.js';
import type { CallTask, Task } from '../../pool/task.js';
import { until } from '../needs.js';
import { PlainFairQueue } from './plain-fair-queue.js';
import { callTask, of, poolOf, run } from './worker-settings.js';

const tenant = fc.constantFrom('a', 'b', 'c', 'd');
const push = fc.record({ push: tenant, weight: fc.integer({ min: 1, max: 5 }), background: fc.boolean() });
const step = fc.oneof(
  { weight: 4, arbitrary: push },
  { weight: 4, arbitrary: fc.record({ take: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ settle: fc.nat(), spent: fc.integer({ min: 0, max: 100 }) }) },
  fc.record({ remove: fc.nat() }),
  fc.record({ stop: tenant }),
  fc.record({ go: tenant }),
);

const estimate = 10;

const jobOf = (tenant: string, background: boolean, weight = 1) =>
  ({ requester: of(tenant, { weight, background }), task: {} }) as unknown as Job;

/** Of tasks that may start whenever a thread is free. */
const schedulerOf = (ms: number, stopOf?: SchedulerOptions['stopOf']) =>
  new Scheduler({ estimate: () => ms, canStart: () => true, refusal: () => undefined, stopOf });

describe('tasks in two classes', () => {
  it('run in their own queue’s order, whatever comes before its time', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const stopped = new Set<string>();
        const mayCall = (name: string) => !stopped.has(name);
        const pushed: Job[] = [];
        const scheduler = schedulerOf(estimate, (name) => (stopped.has(name) ? 'own' : undefined));
        const calls = new PlainFairQueue<Job>();
        const background = new PlainFairQueue<Job>();
        const classOf = ({ requester }: Job) => (requester.background ? background : calls);
        const running: ScheduledTask[] = [];
        for (const one of steps) {
          if ('push' in one) {
            const job = jobOf(one.push, one.background, one.weight);
            pushed.push(job);
            scheduler.push(job);
            classOf(job).push(one.push, job, one.weight);
          } else if ('take' in one) {
            const callsWait = calls.size > 0;
            const next = scheduler.take();
            if (!next) {
              expect(calls.shift(estimate, mayCall)).to.equal(undefined);
              expect(background.size).to.equal(0);
              continue;
            }
            running.push(next);
            const { job } = next;
            if (!job.requester.background) {
              expect(calls.shift(estimate, mayCall)?.item).to.equal(job);
              continue;
            }
            // Beside calls it may come before other tenants' tasks, but not before an older one of its own.
            const inOrder = callsWait ? undefined : background.shift(estimate, () => true);
            const its = inOrder ?? background.shift(estimate, () => true, job.requester.tenant);
            expect(its?.item).to.equal(job);
          } else if ('settle' in one) {
            const [ended] = running.splice(one.settle % (running.length || 1), 1);
            if (!ended) continue;
            ended.settle(one.spent);
            classOf(ended.job).settle(ended.job.requester.tenant, estimate, one.spent);
          } else if ('remove' in one && pushed.length > 0) {
            const job = pushed[one.remove % pushed.length] as Job;
            const removed = classOf(job).remove(job.requester.tenant, job);
            expect(scheduler.remove(job)).to.equal(removed);
          } else if ('stop' in one) stopped.add(one.stop);
          else if ('go' in one) {
            stopped.delete(one.go);
            scheduler.calls.look(one.go);
          }
          expect(scheduler.size).to.equal(calls.size + background.size);
        }
      }),
      { numRuns: 200 },
    );
  });

  /** What each had of the time of one thread for which calls of `client` wait all the time, and of those background `items` each. */
  function serve(
    items: Record<string, number>,
    ms: (name: string) => number,
    { until = 100_000, weights = {} as Record<string, number> } = {},
  ) {
    // The estimate is wrong for all of them at first, as it is for new tasks.
    const scheduler = schedulerOf(50);
    const had: Record<string, number> = {};
    /** When background tasks began. */
    const began: { name: string; at: number }[] = [];
    const left = { ...items };
    const push = (name: string) => {
      if (!left[name]) return;
      left[name] -= 1;
      scheduler.push(jobOf(name, true, weights[name]));
    };
    for (const name of Object.keys(items)) push(name);
    let now = 0;
    while (now < until) {
      while (scheduler.calls.size < 8) scheduler.push(jobOf('client', false));
      const next = scheduler.take() as ScheduledTask;
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
      const { had, now } = serve({ a: many }, (name) => (name === 'client' ? call : item) as number);
      expect((had.a ?? 0) / now, `${call} ${item}`).to.be.within(0.049, 0.052);
    }
  });

  it('start the first background task after one call, and the next ones evenly', () => {
    const { began } = serve({ a: 20 }, () => 20);
    expect(began).to.have.length(20);
    expect(began[0]?.at).to.be.at.most(20);
    // 20 ms of 400: the pauses are as long as that, once their length is known.
    for (const [at, { at: time }] of began.entries())
      if (at > 1) expect(time - (began[at - 1]?.at ?? 0)).to.be.within(300, 500);
  });

  it('give each of several tenants its share, however long the others’ tasks take and whatever its weight', () => {
    const items = { a: many, b: many, c: many };
    const options = { weights: { a: 1, b: 100, c: 1 }, until: 400_000 };
    const { had, now, began } = serve(items, (name) => (name === 'b' ? 5_000 : 20), options);
    for (const name of ['a', 'c']) expect((had[name] ?? 0) / now, name).to.be.within(0.045, 0.06);
    expect((had.b ?? 0) / now).to.be.within(0.03, 0.07);
    // While one of those long ones is paid for, the others' short ones go on.
    const times = began.filter(({ name }) => name === 'a').map(({ at }) => at);
    for (const [at, time] of times.entries())
      if (at > 2) expect(time - (times[at - 1] ?? 0)).to.be.at.most(11_000);
  });

  it('leave calls half of the time, however many tenants have background tasks', () => {
    const tenants = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`t${at}`, many]));
    const { had, now } = serve(tenants, () => 10);
    expect((had.client ?? 0) / now).to.be.within(0.49, 0.52);
  });

  it('save up next to nothing: neither time in which nothing waited, nor time in which no call did', () => {
    const scheduler = schedulerOf(10);
    const run = () => {
      const next = scheduler.take();
      next?.settle(10);
      return next?.job.requester.tenant;
    };
    for (const name of ['client', 'a']) {
      for (let at = 0; at < 1_000; at += 1) {
        scheduler.push(jobOf(name, name === 'a'));
        run();
      }
    }
    for (let at = 0; at < 10; at += 1) scheduler.push(jobOf('a', true));
    for (let at = 0; at < 30; at += 1) scheduler.push(jobOf('client', false));
    const order = Array.from({ length: 30 }, run);
    expect(order.filter((name) => name === 'a').length).to.be.within(1, 7);
  });
});

const png: CallTask = { ...callTask('border'), variant: 'png' };
const avif: CallTask = { ...png, variant: 'avif' };
const msOf = (task: Task) => (task === avif ? 720 : 60);

/** The pool's queue, slots and costs over threads whose time is only counted. */
function createWorld(threads: number, queue = 64) {
  const admission = new Admission(threads + queue);
  const costs = new Costs();
  const canStart = () => true;
  const scheduler = new Scheduler({
    estimate: ({ task }) => costs.estimate(task),
    canStart,
    refusal: () => undefined,
  });
  const releases = new Map<Job, Release>();
  let now = 0;
  const world = {
    running: [] as { next: ScheduledTask; release: Release; ends: number }[],
    spent: { heavy: 0, light: 0 } as Record<string, number>,
    waits: [] as number[],
    ask(tenant: string, task: Task): boolean {
      const release = admission.acquire(of(tenant), costs.slots(task));
      if (typeof release === 'string') return false;
      const job = { ...jobOf(tenant, false), task, since: now };
      releases.set(job, release);
      scheduler.push(job);
      start();
      return true;
    },
    /** Goes on to when the next task ends. */
    step(): void {
      const [first, ...others] = world.running.sort((a, b) => a.ends - b.ends);
      if (!first) return;
      const { job, settle } = first.next;
      world.running = others;
      now = first.ends;
      const { tenant } = job.requester;
      world.spent[tenant] = (world.spent[tenant] ?? 0) + msOf(job.task);
      costs.learn(job.task, msOf(job.task), true);
      settle(msOf(job.task));
      first.release();
      start();
    },
    /** Has both kinds of calls run once. */
    learn(): void {
      for (const task of [png, avif]) {
        world.ask('first', task);
        world.step();
      }
    },
  };
  function start(): void {
    while (world.running.length < threads) {
      const next = scheduler.take();
      if (!next) return;
      const { job } = next;
      if (job.requester.tenant === 'quiet') world.waits.push(now - job.since);
      world.running.push({ next, release: releases.get(job) as Release, ends: now + msOf(job.task) });
    }
  }
  return world;
}

describe('a tenant that floods the pool with heavy calls', () => {
  it('gets no more than its share of the time beside one that asks for light ones', () => {
    const world = createWorld(2);
    for (let steps = 0; steps < 1500; steps += 1) {
      while (world.ask('heavy', avif));
      while (world.ask('light', png));
      world.step();
    }
    const { heavy = 0, light = 0 } = world.spent;
    expect(heavy / light).to.be.closeTo(1, 0.1);
  });

  it('has one call started, and not one on every thread, while another tenant’s wait', () => {
    const world = createWorld(4);
    world.learn();
    for (let at = 0; at < 4; at += 1) world.ask('first', png);
    for (let at = 0; at < 4; at += 1) world.ask('heavy', avif);
    for (let at = 0; at < 30; at += 1) world.ask('light', png);
    for (let at = 0; at < 12; at += 1) world.step();
    expect(world.running.filter(({ next }) => next.job.requester.tenant === 'heavy')).to.have.length(1);
  });

  it('keeps a quiet tenant’s light calls waiting for a running one to end, and no longer', () => {
    const world = createWorld(2);
    for (let steps = 0; steps < 600; steps += 1) {
      while (world.ask('heavy', avif));
      if (steps % 5 === 0) expect(world.ask('quiet', png)).to.equal(true);
      world.step();
    }
    expect(world.waits).to.have.length.above(100);
    expect(Math.max(...world.waits)).to.be.at.most(msOf(avif));
  });

  it('fills the slots with few of them once it is known what they cost', () => {
    const world = createWorld(2);
    world.learn();
    const asked = (tenant: string, task: Task) => {
      let accepted = 0;
      while (world.ask(tenant, task)) accepted += 1;
      return accepted;
    };
    // 66 slots, and seven for each: 720 ms beside 100.
    expect([asked('heavy', avif), asked('light', png)]).to.deep.equal([10, 33]);
  });
});

describe('the pool', () => {
  it('counts a call that is known to be heavy for several slots', async () => {
    // A machine that stalls may take as long for what is light: then nothing is known to be heavy.
    const { pool, asked, each } = await until(async () => {
      const pool = poolOf();
      await pool.start();
      const asked = (variant: string, ms: number) => run(pool, { ...callTask('sleep', { ms }), variant });
      const light = await asked('light', 1);
      const heavy = await asked('heavy', 1000);
      // By what they took, which is more on a busy machine.
      const each = Math.min(16, Math.round(heavy.ms / Math.max(100, light.ms)));
      if (each > 1) return { pool, asked, each };
      await pool.close();
      return undefined;
    });
    const all = Array.from({ length: 10 }, () => asked('heavy', 0).catch(({ code }) => code));
    expect(pool.stats().places).to.be.greaterThan(9);
    const refused = (await Promise.all(all)).filter((end) => typeof end === 'string');
    expect(new Set(refused)).to.deep.equal(new Set(['busy']));
    // What the pool measured may round to one more or less than what the outcomes say.
    const accepted = 10 - refused.length;
    expect(accepted).to.be.within(Math.ceil(10 / (each + 1)), Math.ceil(10 / (each - 1)));
    expect(pool.stats().places).to.equal(0);
    await pool.close();
  });
});
