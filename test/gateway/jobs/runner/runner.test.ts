import { expect } from 'chai';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { resultStore } from '../../../../gateway/jobs/results/result-store.js';
import type { Trace } from '../../../../gateway/observability/tracing.js';
import { PoolError } from '../../../../pool/errors.js';
import { until } from '../../../needs.js';
import { createMemoryJobs, createRunnerWorld, type RunnerWorld } from './runner-world.js';

const ended = (world: RunnerWorld) =>
  world.jobs.ended.map(({ end }) => (end.state === 'failed' ? end.error.code : end.state));

/** Ends whatever runs until so many items have ended. */
async function serve(world: RunnerWorld, count: number, { ms = 10, bytes = 0 } = {}) {
  await until(() => {
    for (const task of [...world.running]) task.end(ms, bytes);
    return world.jobs.ended.length >= count;
  });
}

describe('jobs/runner', () => {
  let world: RunnerWorld;
  afterEach(async () => {
    world.jobs.away = false;
    let closed = false;
    void world.runner.close().then(() => (closed = true));
    await until(() => {
      for (const task of [...world.running]) task.end();
      return closed;
    });
  });

  it('ends each item with its result, its call in the usage and a line in the log', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 3);
    world.runner.open(['a']);
    await serve(world, 3, { bytes: 7 });
    expect(ended(world)).to.deep.equal(['done', 'done', 'done']);
    expect(world.jobs.ended[0]?.usage).to.include({
      tenant: 'a',
      key: 'key_a',
      service: 'work',
      status: 200,
    });
    expect([...world.results.keys()]).to.deep.equal(['a/out/0', 'a/out/1', 'a/out/2']);
    await until(() => world.log.filter(({ msg }) => msg === 'item').length === 3);
    expect(world.log[0]).to.include({ job: 'a', service: 'work', tenant: 'a', key: 'key_a' });
  });

  it('keeps small JSON with its item, and nothing of it in the result store', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 1);
    world.runner.open(['a']);
    await serve(world, 1);
    expect(world.jobs.ended[0]?.end).to.include({ state: 'done', text: '{"done":true}' });
    expect(world.results.size).to.equal(0);
  });

  it('follows each item with one trace, to its end', async () => {
    const codes = new Map<number, (string | undefined)[]>();
    const step = { set() {}, end() {}, headers: () => ({}) };
    world = createRunnerWorld({
      tracing: {
        item({ index }) {
          expect(codes.has(index)).to.equal(false);
          const ends: (string | undefined)[] = [];
          codes.set(index, ends);
          const end: Trace['end'] = ({ code }) => void ends.push(code);
          return { id: `${index}`, set() {}, stage: () => step, part: () => step, end };
        },
        request: () => expect.fail('nobody asks'),
        close: async () => undefined,
      },
    });
    world.jobs.add('a', 1);
    world.jobs.add('a', 1, { wrong: true });
    world.runner.open(['a']);
    await serve(world, 2);
    await until(() => world.runner.size() === 0);
    expect([...codes.values()]).to.have.deep.members([[undefined], ['invalid_input']]);
    expect(world.log.map(({ trace_id }) => trace_id)).to.have.members([...codes.keys()].map(String));
  });

  it('fails an item that is not valid alone, and one whose helper is gone by its name', async () => {
    world = createRunnerWorld({ lackingMs: 0 });
    world.jobs.add('a', 1, { wrong: true });
    world.jobs.add('a', 1, {}, 'text/gone');
    world.jobs.add('a', 1);
    await until(() => {
      world.runner.open(['a']);
      for (const task of [...world.running]) task.end();
      return world.jobs.ended.length === 3;
    });
    expect(ended(world).sort()).to.deep.equal(['done', 'invalid_input', 'not_found']);
    const gone = world.jobs.ended.find(({ end }) => end.state === 'failed' && end.error.code === 'not_found');
    expect(JSON.stringify(gone?.end)).to.contain('text/gone');
  });

  it('puts a result beside that of an attempt before, which may still be at work elsewhere', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 1);
    world.jobs.attempts.set('a 0', 1);
    world.runner.open(['a']);
    await serve(world, 1, { bytes: 7 });
    expect([...world.results.keys()]).to.deep.equal(['a/out/0-2']);
    expect(world.jobs.ended[0]?.end).to.have.nested.property('result.attempt', 2);
  });

  it('runs what changes something elsewhere once, and again where that changes no more', async () => {
    world = createRunnerWorld({ threads: 4 });
    const fault = () => new PoolError('internal', 'died');
    world.jobs.add('a', 1, { once: true }, 'act');
    world.jobs.add('b', 1, {}, 'act-again');
    world.runner.open(['a', 'b']);
    await until(() => world.running.length === 2);
    for (const task of [...world.running]) task.fail(fault());
    await until(() => world.jobs.released.length === 1 && world.jobs.ended.length === 1);
    expect(world.jobs.ended.map(({ job }) => job)).to.deep.equal(['a']);
    expect(ended(world)).to.deep.equal(['internal']);
    expect(world.jobs.released.map(({ lease }) => lease.job)).to.deep.equal(['b']);
  });

  it('does not run what changes something elsewhere again after its process was lost, and says so', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 1, {}, 'act');
    world.jobs.attempts.set('a 0', 1);
    world.runner.open(['a']);
    await until(() => world.jobs.ended.length === 1);
    expect(world.running).to.have.length(0);
    expect(JSON.stringify(world.jobs.ended[0]?.end)).to.include('may have done so; it is not run again');
  });

  it('keeps a result that cannot be put from running what changes something elsewhere again', async () => {
    world = createRunnerWorld({
      put() {
        throw new PoolError('busy', 'the store is busy');
      },
    });
    world.jobs.add('a', 1, {}, 'act');
    world.runner.open(['a']);
    await serve(world, 1, { bytes: 7 });
    expect(ended(world)).to.deep.equal(['busy']);
    expect([world.jobs.attempts.get('a 0'), world.jobs.released]).to.deep.equal([1, []]);
  });

  it('takes no more than can soon run, however much waits', async () => {
    world = createRunnerWorld({ threads: 2 });
    world.jobs.add('a', 10_000);
    world.runner.open(['a']);
    await until(() => world.running.length === 4);
    expect(world.jobs.waiting()).to.equal(9_996);
    expect(world.runner.size()).to.equal(4);
  });

  it('takes an item of a tenant that has none in hand, however long those of others wait there', async () => {
    world = createRunnerWorld({ threads: 2 });
    world.jobs.add('a', 100);
    world.runner.open(['a']);
    await until(() => world.running.length === 4);
    for (const name of ['b', 'c']) world.jobs.add(name, 3);
    world.runner.open(['b', 'c']);
    for (let left = 3; left > 0; left -= 1) {
      const its = await until(() => {
        const running = ['b', 'c'].map((name) => world.running.filter(({ tenant }) => tenant === name));
        return running.every(({ length }) => length === 1) ? running.flat() : undefined;
      });
      for (const task of its) task.end();
    }
    await until(() => world.jobs.ended.length === 6);
    expect(new Set(world.running.map(({ tenant }) => tenant))).to.deep.equal(new Set(['a']));
  });

  it('takes an item of a tenant that has none in hand while those of others are being taken', async () => {
    const jobs = createMemoryJobs();
    const { lease } = jobs.queue;
    const held: (() => void)[] = [];
    jobs.queue.lease = async (tenant, most) => {
      if (tenant === 'a') await new Promise<void>((resolve) => held.push(resolve));
      return lease(tenant, most);
    };
    world = createRunnerWorld({ jobs });
    jobs.add('a', 10);
    world.runner.open(['a']);
    await until(() => held.length === 1);
    jobs.add('b', 2);
    world.runner.open(['b']);
    await serve(world, 2);
    expect(held).to.have.length(1);
    jobs.queue.lease = lease;
    held[0]?.();
    await serve(world, 12);
  });

  /** A world in which inputs come when they are let, and how to let them. */
  function withInputs(bytes = 10) {
    const coming: (() => void)[] = [];
    const bring = () => new Promise<number>((resolve) => coming.push(() => resolve(bytes)));
    world = createRunnerWorld({ threads: 2, bring });
    world.jobs.add('a', 500, { url: 'https://a.example/1' }, 'fetch');
    world.runner.open(['a']);
    return coming;
  }

  it('has inputs brought ahead, many for each thread, and begins others’ items meanwhile', async () => {
    const coming = withInputs();
    await until(() => coming.length >= 64);
    world.jobs.add('b', 20);
    world.runner.open(['b']);
    await serve(world, 20);
    expect(world.jobs.ended.every(({ job }) => job === 'b')).to.equal(true);
    expect(coming.length).to.be.within(64, 64 + 32);
    const before = coming.length;
    for (const come of coming.splice(0, 60)) come();
    await serve(world, 80);
    await until(() => coming.length + 60 >= before + 40);
    // What is here waits for threads: as much is on its way as was before.
    expect(coming.length).to.be.at.most(64 + 32);
  });

  it('leaves a tenant whose inputs do not come no more than its part of those that are brought ahead', async () => {
    const coming = withInputs();
    await until(() => coming.length >= 64);
    // Of those that are begun together some come to their downloads a moment later.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const own = coming.length;
    expect(own).to.be.at.most(64 + 32);
    world.jobs.add('b', 500, { url: 'https://b.example/1' }, 'fetch');
    world.runner.open(['b']);
    await until(() => coming.length >= own + 4);
    for (const come of coming.splice(own)) come();
    await serve(world, 4);
    expect(new Set(world.jobs.ended.map(({ job }) => job))).to.deep.equal(new Set(['b']));
    // And so it goes on.
    await until(() => coming.length > own);
  });

  it('has fewer inputs brought ahead where they are large', async () => {
    const coming = withInputs(20_000_000);
    await until(() => coming.length >= 64);
    await until(() => {
      for (const come of coming.splice(0, 10)) come();
      for (const task of [...world.running]) task.end();
      return world.jobs.ended.length >= 100;
    });
    await until(() => {
      for (const task of [...world.running]) task.end();
      return coming.length > 0 && coming.length === world.runner.size();
    });
    // Three fit into the quarter of the inbound budget that is theirs.
    expect(coming.length).to.be.within(1, 3);
  }).timeout(30_000);

  it('tries again what was our fault, a few times, and tells no reason of ours', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 1);
    const give = () => world.runner.open(['a']);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      give();
      (await until(() => world.running[0])).fail(new Error('secret reason'));
      await until(() => world.jobs.released.length === attempt || world.jobs.ended.length === 1);
    }
    expect(world.jobs.released.map(({ delayMs }) => delayMs)).to.deep.equal([1_000, 4_000]);
    expect(ended(world)).to.deep.equal(['internal']);
    expect(JSON.stringify(world.jobs.ended)).not.to.contain('secret');
    expect(world.jobs.ended[0]?.usage).to.include({ status: 500 });
  });

  it('waits for what passes, and counts no attempt', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 1);
    for (let met = 1; met <= 30; met += 1) {
      world.runner.open(['a']);
      (await until(() => world.running[0])).fail(new PoolError('busy', 'no thread can load it'));
      await until(() => world.jobs.released.length === met && world.runner.size() === 0);
    }
    expect(world.jobs.attempts.get('a 0')).to.equal(0);
    world.runner.open(['a']);
    await serve(world, 1);
    expect(ended(world)).to.deep.equal(['done']);
  });

  it('gives up an item that was lost with its process again and again, putting it off before', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 2);
    world.jobs.attempts.set('a 0', 6);
    world.jobs.attempts.set('a 1', 20);
    world.runner.open(['a']);
    await until(() => world.jobs.released.length === 1 && world.runner.size() === 0);
    expect(world.jobs.released[0]?.delayMs).to.be.within(10_000, 30_000);
    // Which is known to whoever takes it next, in whatever process.
    expect(world.jobs.attempts.get('a 0')).to.equal(7);
    expect(ended(world)).to.deep.equal(['internal']);
    world.runner.open(['a']);
    await serve(world, 2);
    expect(ended(world)).to.deep.equal(['internal', 'done']);
  });

  it('steps over what was called off, however much it is', async () => {
    world = createRunnerWorld({ threads: 1 });
    world.jobs.add('a', 5_010);
    for (let index = 0; index < 5_000; index += 1) {
      world.jobs.ended.push({ job: 'a', index, end: { state: 'cancelled' } });
    }
    world.runner.open(['a']);
    await serve(world, 5_010);
    expect(ended(world).filter((state) => state === 'done')).to.have.length(10);
    expect(world.jobs.takes).to.be.below(50);
  });

  it('takes less ahead where results are large', async () => {
    world = createRunnerWorld({ threads: 2 });
    world.jobs.add('a', 200);
    world.runner.open(['a']);
    await serve(world, 100, { ms: 1, bytes: 20_000_000 });
    // What runs, and one more: all of it may come to wait for where it is to be written.
    await until(() => world.runner.size() === 3 && world.running.length === 3);
  }).timeout(30_000);

  it('fails what its tenant’s results have no room for, and runs nothing once they have none', async () => {
    world = createRunnerWorld({ mostResultBytes: 1_000 });
    world.jobs.add('a', 3);
    world.runner.open(['a']);
    await until(() => world.running.length > 0);
    await serve(world, 3, { bytes: 600 });
    expect(ended(world).sort()).to.deep.equal(['done', 'too_large', 'too_large']);
    expect(world.jobs.ended.map(({ usage }) => usage?.status).sort()).to.deep.equal([200, 413, 413]);
    expect(world.results.size).to.equal(1);
    world.jobs.resultBytes = 1_000;
    world.jobs.add('b', 5);
    world.runner.open(['b']);
    await until(() => world.jobs.ended.length === 8);
    expect(ended(world).slice(3)).to.deep.equal(Array(5).fill('too_large'));
  });

  it('waits for a store that is away for a moment', async () => {
    let away = true;
    let tries = 0;
    const put = () => {
      tries += 1;
      if (away) throw new StoreError(resultStore, new Error('refused'));
    };
    world = createRunnerWorld({ put });
    world.jobs.add('a', 1);
    world.runner.open(['a']);
    (await until(() => world.running[0])).end(10, 7);
    await until(() => tries > 5);
    expect(world.jobs.ended).to.have.length(0);
    away = false;
    await until(() => world.jobs.ended.length === 1);
    expect(ended(world)).to.deep.equal(['done']);
  });

  it('hands back at its end what has not begun, and lets what runs end', async () => {
    world = createRunnerWorld({ threads: 1 });
    world.jobs.add('a', 10);
    world.runner.open(['a']);
    await until(() => world.running.length === 2);
    const [first, second] = [...world.running];
    const closing = world.runner.close();
    second?.fail(new PoolError('shutting_down', 'it waited'));
    first?.end();
    await closing;
    expect(ended(world)).to.deep.equal(['done']);
    expect(world.jobs.released.map(({ delayMs }) => delayMs)).to.deep.equal([0]);
    expect(world.jobs.waiting()).to.equal(9);
    expect(world.jobs.attempts.get('a 1')).to.equal(0);
  });

  it('outlives what it needs: it tells once that it is away, and once that it is back, and does not spin', async () => {
    world = createRunnerWorld();
    world.jobs.add('a', 4);
    world.runner.open(['a']);
    await until(() => world.running.length === 4);
    world.jobs.away = true;
    for (const task of [...world.running]) task.end();
    await until(() => world.log.some(({ level }) => level === 40));
    const { takes } = world.jobs;
    expect(world.jobs.ended).to.have.length(0);
    world.jobs.away = false;
    world.jobs.add('a', 2);
    world.runner.open(['a']);
    await serve(world, 6);
    expect(world.log.filter(({ level }) => level === 40)).to.have.length(1);
    expect(world.log.filter(({ msg }) => msg === 'jobs go on')).to.have.length(1);
    expect(world.jobs.takes - takes).to.be.below(20);
  });
});
