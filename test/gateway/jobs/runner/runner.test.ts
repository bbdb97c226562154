import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createLackingHelpers } from '../../../../gateway/jobs/runner/retries.js';
import { PoolError } from '../../../../pool/errors.js';
import { until } from '../../../needs.js';
import { createRunnerWorld, MemoryJobs, type RunnerWorld, type WorldOptions } from './runner-world.js';

describe('jobs/runner', () => {
  let world: RunnerWorld;
  afterEach(async () => {
    world.jobs.away = false;
    let closed = false;
    void world.runner.close().then(() => (closed = true));
    await until(() => {
      endAll();
      return closed;
    });
  });

  /** Adds so many items of each tenant, and has them worked on. */
  function add(counts: Record<string, number>, input: object = {}, service = 'work'): void {
    for (const [tenant, count] of Object.entries(counts)) world.jobs.add(tenant, count, input, service);
    world.runner.open(Object.keys(counts));
  }

  function start(counts: Record<string, number>, options: WorldOptions = {}): void {
    world = createRunnerWorld(options);
    add(counts);
  }

  /** Ends whatever runs. */
  function endAll(ms = 10, bytes = 0): void {
    for (const task of [...world.running]) task.end(ms, bytes);
  }

  /** Ends whatever runs until so many items have ended. */
  async function serve(count: number, { ms = 10, bytes = 0 } = {}) {
    await until(() => {
      endAll(ms, bytes);
      return world.jobs.ended.length >= count;
    });
  }

  const first = () => until(() => world.running[0]);
  const running = (count: number) => until(() => world.running.length === count);
  const tenantsOf = (items: readonly { job: string }[]) => [...new Set(items.map(({ job }) => job))];

  it('ends each item with its result, of which small JSON lies with it, its call and a line in the log', async () => {
    start({ a: 3 });
    await serve(3, { bytes: 7 });
    add({ a: 1 });
    await serve(4);
    expect(world.jobs.outcomes()).to.deep.equal(Array(4).fill('done'));
    expect(world.jobs.ended[3]?.end).to.include({ state: 'done', text: '{"done":true}' });
    const call = { tenant: 'a', key: 'key_a', service: 'work', status: 200 };
    expect(world.jobs.ended[0]?.usage).to.include(call);
    expect([...world.results.keys()]).to.deep.equal(['a/out/0', 'a/out/1', 'a/out/2']);
    await until(() => world.log.filter(({ msg }) => msg === 'item').length === 4);
    expect(world.log[0]).to.include({ job: 'a', service: 'work', tenant: 'a', key: 'key_a' });
  });

  it('fails an item that is not valid alone, and one whose helper is gone by its name', async () => {
    start({}, { lackingMs: 0 });
    add({ a: 1 }, { wrong: true });
    add({ a: 1 }, {}, 'text/gone');
    add({ a: 1 });
    await until(() => {
      world.runner.open(['a']);
      endAll();
      return world.jobs.ended.length === 3;
    });
    expect(world.jobs.outcomes().sort()).to.deep.equal(['done', 'invalid_input', 'not_found']);
    expect(JSON.stringify(world.jobs.ended)).to.contain('text/gone');
  });

  it('leaves items whose helper it lacks to a process that has it, which does them at the first attempt', async () => {
    const jobs = new MemoryJobs();
    const other = createRunnerWorld({ jobs });
    other.helpers.delete('work');
    jobs.add('a', 10);
    other.runner.open(['a']);
    await until(() => jobs.attempts.get('a 0') === 0);
    world = createRunnerWorld({ jobs });
    let looks = 0;
    await until(() => {
      [world, other][looks++ % 2]?.runner.open(['a']);
      endAll();
      return jobs.ended.length === 10;
    });
    await other.runner.close();
    expect(new Set([...jobs.outcomes(), ...jobs.attempts.values()])).to.deep.equal(new Set(['done', 1]));
  });

  it('puts a result beside that of an attempt before, which may still be at work elsewhere', async () => {
    start({ a: 1 });
    world.jobs.attempts.set('a 0', 1);
    await serve(1, { bytes: 7 });
    expect([...world.results.keys()]).to.deep.equal(['a/out/0-2']);
    expect(world.jobs.ended[0]?.end).to.have.nested.property('result.attempt', 2);
  });

  it('runs what changes something elsewhere once, and again where that changes no more', async () => {
    start({}, { threads: 4 });
    add({ a: 1 }, {}, 'act');
    add({ b: 1 }, {}, 'act-again');
    await running(2);
    for (const task of [...world.running]) task.fail(new PoolError('internal', 'died'));
    await until(() => world.jobs.released.length === 1 && world.jobs.ended.length === 1);
    expect([tenantsOf(world.jobs.ended), world.jobs.outcomes()]).to.deep.equal([['a'], ['internal']]);
    expect(world.jobs.released[0]?.lease.job).to.equal('b');
  });

  it('does not run what changes something elsewhere again after its process was lost, and says so', async () => {
    start({});
    add({ a: 1 }, {}, 'act');
    world.jobs.attempts.set('a 0', 1);
    await until(() => world.jobs.ended.length === 1);
    expect(world.running).to.have.length(0);
    expect(JSON.stringify(world.jobs.ended[0]?.end)).to.include('may have done so; it is not run again');
  });

  it('does not run what changes something elsewhere again where its result cannot be put', async () => {
    const put = () => {
      throw new PoolError('busy', 'the store is busy');
    };
    start({}, { put });
    add({ a: 1 }, {}, 'act');
    await serve(1, { bytes: 7 });
    expect(world.jobs.outcomes()).to.deep.equal(['busy']);
    expect([world.jobs.attempts.get('a 0'), world.jobs.released]).to.deep.equal([1, []]);
  });

  it('leases no more than can soon run, however much waits', async () => {
    start({ a: 10_000 });
    await running(4);
    expect([world.jobs.waiting(), world.runner.size()]).to.deep.equal([9_996, 4]);
  });

  it('leases an item of a tenant that has none in hand, however long those of others wait there', async () => {
    start({ a: 100 });
    await running(4);
    add({ b: 3, c: 3 });
    for (let left = 3; left > 0; left -= 1) {
      const its = await until(() => {
        const running = ['b', 'c'].map((name) => world.running.filter(({ tenant }) => tenant === name));
        return running.every(({ length }) => length === 1) ? running.flat() : undefined;
      });
      for (const task of its) task.end();
    }
    await until(() => world.jobs.ended.length === 6);
    expect(world.running.every(({ tenant }) => tenant === 'a')).to.equal(true);
  });

  it('leases an item of a tenant that has none in hand while those of others are being leased', async () => {
    const jobs = new MemoryJobs();
    const { lease } = jobs.queue;
    const held: (() => void)[] = [];
    let isHeld = true;
    jobs.queue.lease = async (tenant, most) => {
      if (isHeld && tenant === 'a') await new Promise<void>((resolve) => held.push(resolve));
      return lease(tenant, most);
    };
    start({ a: 10 }, { jobs });
    await until(() => held.length === 1);
    add({ b: 2 });
    await serve(2);
    expect(held).to.have.length(1);
    isHeld = false;
    held[0]?.();
    await serve(12);
  });

  it('prolongs the leases of what runs, and of nothing that it could not begin, which it logs', async () => {
    const jobs = new MemoryJobs();
    let prolonged: string[] = [];
    let areLost = false;
    jobs.queue.leaseMs = 15;
    jobs.queue.extend = async (leases) => {
      prolonged.push(...leases.map(({ tenant }) => tenant));
      return areLost ? [...leases] : [];
    };
    jobs.store.handBack = () => Promise.reject(new TypeError('a bug'));
    start({ b: 2 }, { jobs });
    // The second was lost so often that it is put off.
    jobs.attempts.set('b 1', 4);
    await until(() => world.log.some(({ level }) => level === 50));
    const [line] = world.log;
    expect(line).to.have.nested.property('err.message', 'a bug');
    expect(world.running).to.have.length(0);
    prolonged = [];
    add({ a: 1 });
    await until(() => prolonged.length > 2);
    expect(new Set(prolonged)).to.deep.equal(new Set(['a']));
    // It is held no longer once it is lost.
    areLost = true;
    const before = prolonged.length;
    await sleep(50);
    expect(prolonged.length).to.be.at.most(before + 1);
  });

  /** Begins items whose inputs come when they are let, and gives how to let them. */
  function withInputs(bytes = 10) {
    const coming: (() => void)[] = [];
    start({}, { bring: () => new Promise<number>((resolve) => coming.push(() => resolve(bytes))) });
    add({ a: 500 }, { url: 'https://a.example/1' }, 'fetch');
    return coming;
  }

  it('has inputs brought ahead, many for each thread, and begins others’ items meanwhile', async () => {
    const coming = withInputs();
    await until(() => coming.length >= 64);
    add({ b: 20 });
    await serve(20);
    expect(tenantsOf(world.jobs.ended)).to.deep.equal(['b']);
    expect(coming.length).to.be.within(64, 64 + 32);
    const before = coming.length;
    for (const come of coming.splice(0, 60)) come();
    await serve(80);
    await until(() => coming.length + 60 >= before + 40);
    // What is here waits for threads: as much is on its way as was before.
    expect(coming.length).to.be.at.most(64 + 32);
  });

  it('leaves a tenant whose inputs do not come no more than its part of those that are brought ahead', async () => {
    const coming = withInputs();
    await until(() => coming.length >= 64);
    // Of those that are begun together some come to their downloads a moment later.
    await sleep(50);
    const own = coming.length;
    expect(own).to.be.at.most(64 + 32);
    add({ b: 500 }, { url: 'https://b.example/1' }, 'fetch');
    await until(() => coming.length >= own + 4);
    for (const come of coming.splice(own)) come();
    await serve(4);
    expect(tenantsOf(world.jobs.ended)).to.deep.equal(['b']);
    // And so it goes on.
    await until(() => coming.length > own);
  });

  it('has fewer inputs brought ahead where they are large', async () => {
    const coming = withInputs(20_000_000);
    await until(() => coming.length >= 64);
    await until(() => {
      for (const come of coming.splice(0, 10)) come();
      endAll();
      return world.jobs.ended.length >= 100;
    });
    await until(() => {
      endAll();
      return coming.length > 0 && coming.length === world.runner.size();
    });
    // Three fit into the quarter of the inbound budget that is theirs.
    expect(coming.length).to.be.within(1, 3);
  }).timeout(30_000);

  it('tries again what was our fault, a few times, and discloses no reason of ours', async () => {
    start({ a: 1 });
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      world.runner.open(['a']);
      (await first()).fail(new Error('secret reason'));
      await until(() => world.jobs.released.length === attempt || world.jobs.ended.length === 1);
    }
    expect(world.jobs.released.map(({ delayMs }) => delayMs)).to.deep.equal([1_000, 4_000]);
    expect(world.jobs.outcomes()).to.deep.equal(['internal']);
    expect(JSON.stringify(world.jobs.ended)).not.to.contain('secret');
    expect(world.jobs.ended[0]?.usage).to.include({ status: 500 });
  });

  it('waits for what passes, and counts no attempt', async () => {
    start({ a: 1 });
    for (let met = 1; met <= 30; met += 1) {
      world.runner.open(['a']);
      (await first()).fail(new PoolError('busy', 'no thread can load it'));
      await until(() => world.jobs.released.length === met && world.runner.size() === 0);
    }
    expect(world.jobs.attempts.get('a 0')).to.equal(0);
    world.runner.open(['a']);
    await serve(1);
    expect(world.jobs.outcomes()).to.deep.equal(['done']);
  });

  it('gives up an item that was lost with its process again and again, putting it off before', async () => {
    start({ a: 2 });
    world.jobs.attempts.set('a 0', 6);
    world.jobs.attempts.set('a 1', 20);
    await until(() => world.jobs.released.length === 1 && world.runner.size() === 0);
    expect(world.jobs.released[0]?.delayMs).to.be.within(10_000, 30_000);
    // Which the process knows that leases it next.
    expect(world.jobs.attempts.get('a 0')).to.equal(7);
    expect(world.jobs.outcomes()).to.deep.equal(['internal']);
    world.runner.open(['a']);
    await serve(2);
    expect(world.jobs.outcomes()).to.deep.equal(['internal', 'done']);
  });

  it('steps over what was cancelled, however much it is', async () => {
    start({}, { threads: 1 });
    world.jobs.add('a', 5_010);
    for (let index = 0; index < 5_000; index += 1)
      world.jobs.ended.push({ job: 'a', index, end: { state: 'cancelled' } });
    world.runner.open(['a']);
    await serve(5_010);
    expect(world.jobs.outcomes().filter((outcome) => outcome === 'done')).to.have.length(10);
    expect(world.jobs.leases).to.be.below(50);
  });

  it('leases less ahead where results are large', async () => {
    start({ a: 200 });
    await serve(100, { ms: 1, bytes: 20_000_000 });
    // What runs, and one more: all of it may come to wait for where it is to be written.
    await until(() => world.runner.size() === 3 && world.running.length === 3);
  }).timeout(30_000);

  it('fails what its tenant’s results have no room for, and runs nothing once they have none', async () => {
    start({ a: 3 }, { mostResultBytes: 1_000 });
    await first();
    await serve(3, { bytes: 600 });
    expect(world.jobs.outcomes().sort()).to.deep.equal(['done', 'too_large', 'too_large']);
    expect(world.jobs.ended.map(({ usage }) => usage?.status).sort()).to.deep.equal([200, 413, 413]);
    expect(world.results.size).to.equal(1);
    world.jobs.resultBytes = 1_000;
    add({ b: 5 });
    await until(() => world.jobs.ended.length === 8);
    expect(world.jobs.outcomes().slice(3)).to.deep.equal(Array(5).fill('too_large'));
  });

  it('hands back at its end what has not begun, and lets what runs end', async () => {
    start({ a: 10 }, { threads: 1 });
    await running(2);
    const [one, other] = [...world.running];
    const closing = world.runner.close();
    other?.fail(new PoolError('shutting_down', 'it waited'));
    one?.end();
    await closing;
    expect(world.jobs.outcomes()).to.deep.equal(['done']);
    expect(world.jobs.released.map(({ delayMs }) => delayMs)).to.deep.equal([0]);
    expect(world.jobs.waiting()).to.equal(9);
    expect(world.jobs.attempts.get('a 1')).to.equal(0);
  });

  it('outlives what it needs: logs once that it is away, and once that it is back, and does not spin', async () => {
    start({ a: 4 });
    await running(4);
    world.jobs.away = true;
    endAll();
    await until(() => world.log.some(({ level }) => level === 40));
    const { leases } = world.jobs;
    expect(world.jobs.ended).to.have.length(0);
    world.jobs.away = false;
    add({ a: 2 });
    await serve(6);
    expect(world.log.filter(({ level }) => level === 40)).to.have.length(1);
    expect(world.log.filter(({ msg }) => msg === 'jobs go on')).to.have.length(1);
    expect(world.jobs.leases - leases).to.be.below(20);
  });
});

describe('items whose helper a process lacks', () => {
  it('are left to others while their job moves, then for ten minutes, behind the tenant’s other items', () => {
    const minute = 60_000;
    let now = 0;
    let has = false;
    const registry = { get: () => (has ? ({} as never) : undefined) };
    const lacking = createLackingHelpers(registry, undefined, () => now);
    const of = { tenant_id: 't', key_id: 'k', service: 'work' };
    const delayOf = (job: string, done = 0) => {
      const retry = lacking.leave({ job, done, of });
      expect(retry?.counted ?? false).to.equal(false);
      return retry?.delayMs;
    };
    for (let at = 0; at < 60; at += 1) {
      now = at * minute;
      expect(delayOf('moves', at)).to.equal(0);
      expect(delayOf('stands')).to.equal(at === 0 ? 0 : at < 10 ? 30_000 : undefined);
    }
    // Once the helper is there they are begun, and are left alone as long again should it go.
    has = true;
    expect(delayOf('stands')).to.equal(undefined);
    has = false;
    expect(delayOf('stands')).to.equal(0);
  });
});
