import { expect } from 'chai';
import { Admission, type Release } from '../../pool/admission.js';
import { Costs } from '../../pool/costs.js';
import { FairQueue } from '../../pool/fair-queue.js';
import { createPool } from '../../pool/pool.js';
import type { CallTask } from '../../pool/task.js';
import { until } from '../until.js';
import { callTask } from './call-task.js';
import { workerSettings } from './worker-settings.js';

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
      const release = admission.take({ tenant, weight: 1, most: null }, costs.places(task));
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
        pool.turn({ tenant: 'a', weight: 1, most: null }).run({ ...callTask('sleep', { ms }), variant });
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
