import { expect } from 'chai';
import type { Requester } from '../../pool/admission.js';
import { createPool, type Pool, type PoolOptions } from '../../pool/pool.js';
import { rejection } from '../gateway/download/raw-server.js';
import { createGate, type Gate } from '../gateway/harness.js';
import { until } from '../needs.js';
import { callTask, workerSettings } from './worker-settings.js';

const options: PoolOptions = {
  threads: 1,
  queue: 9,
  worker: workerSettings,
};

describe('the pool', () => {
  let pool: Pool;

  before(async () => {
    pool = createPool(options);
    await pool.start();
  });

  after(() => pool.close());

  const turn = (tenant: string) => pool.ticket({ tenant, weight: 1, most: null });

  it('lets a quiet tenant pass the line of a noisy one', async () => {
    const order: string[] = [];
    const run = async (tenant: string) => {
      await turn(tenant).run(callTask('sleep', { ms: 20 }));
      order.push(tenant);
    };
    await Promise.all([...Array.from({ length: 8 }, () => run('noisy')), run('quiet')]);
    // One of the noisy tenant's tasks was running already; the quiet one is next.
    expect(order.indexOf('quiet')).to.be.at.most(1);
  });

  it('takes a quiet tenant’s work although a noisy one has every place, and finishes all of it', async () => {
    const noisy = Array.from({ length: 10 }, () => turn('noisy').run(callTask('sleep', { ms: 20 })));
    expect((await turn('quiet').run(callTask('echo'))).ok).to.equal(true);
    expect((await Promise.all(noisy)).every(({ ok }) => ok)).to.equal(true);
  });

  it('tells of each task that starts how long it waited, and whose it is', async () => {
    const starts: { waitMs: number; requester: Requester }[] = [];
    pool.watch((waitMs, requester) => starts.push({ waitMs, requester }));
    const requester = { tenant: 'a', weight: 3, most: null, background: true };
    const held = pool.ticket(requester).run(callTask('sleep', { ms: 20 }));
    const waiting = turn('b').run(callTask('echo'));
    const { ms } = await held;
    await waiting;
    expect(starts.map(({ requester }) => requester.tenant)).to.deep.equal(['a', 'b']);
    expect(starts[0]?.requester).to.equal(requester);
    // The other may have begun some time before this one came.
    expect(starts[1]?.waitMs).to.be.at.least(ms / 2);
  });

  it('takes what was expected and has arrived, also past its bound', async () => {
    const late = turn('a');
    await late.reserve();
    const others = Array.from({ length: 10 }, () => turn('a').run(callTask('sleep', { ms: 10 })));
    expect((await late.run(callTask('echo'))).ok).to.equal(true);
    await Promise.all(others);
  });

  it('runs a second task in the same turn when there is no place for others', async () => {
    const first = turn('a');
    await first.run(callTask('echo'));
    const others = Array.from({ length: 9 }, () => turn('a').run(callTask('sleep', { ms: 10 })));
    expect((await first.run(callTask('echo'))).ok).to.equal(true);
    await Promise.all(others);
  });

  it('keeps no place between two tasks', async () => {
    const first = turn('a');
    await first.run(callTask('echo'));
    expect(pool.stats().places).to.equal(0);
    first.release();
  });

  it('holds a running task’s place to its end, and gives up one that waits', async () => {
    const gate = await createGate();
    const running = turn('a');
    const waiting = turn('a');
    const done = running.run(callTask('gate', { path: gate.file }));
    const given = waiting.run(callTask('sleep', { ms: 50 })).catch((error) => error.message);
    running.release();
    waiting.release();
    expect(await given).to.equal('the call was given up before its task began');
    expect(pool.stats()).to.include({ running: 1, places: 1 });
    await gate.open();
    await done;
    await gate.close();
    expect(pool.stats()).to.include({ running: 0, places: 0 });
  });

  it('moves the bytes of a file instead of copying them', async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const file = { bytes, type: 'image/png' };
    const outcome = await turn('a').run({ ...callTask('picture'), files: { file } });
    expect(bytes.byteLength).to.equal(0);
    expect(outcome).to.include({ ok: false, code: 'bad_image' });
  });

  it('tells the time that a task took', async () => {
    const began = performance.now();
    const outcome = await turn('a').run(callTask('sleep', { ms: 30 }));
    expect(outcome.ms).to.be.within(25, performance.now() - began);
  });

  it('finishes what has a place when it closes, and takes nothing more', async () => {
    const done = turn('a').run(callTask('sleep', { ms: 50 }));
    const closing = pool.close();
    const refused = await turn('a')
      .run(callTask('echo'))
      .catch((error) => error.code);
    expect(refused).to.equal('shutting_down');
    expect((await done).ok).to.equal(true);
    await closing;
  });
});

describe('a pool that may not start a tenant’s work', () => {
  it('lets it wait in the line, runs the others’, and goes on when it may', async () => {
    const stopped = new Set(['a']);
    const pool = createPool({ ...options, stopOf: (tenant) => (stopped.has(tenant) ? 'own' : undefined) });
    await pool.start();
    let ran = false;
    const waiting = pool
      .ticket({ tenant: 'a', weight: 1, most: null })
      .run(callTask('echo'))
      .then(() => {
        ran = true;
      });
    await pool.ticket({ tenant: 'b', weight: 1, most: null }).run(callTask('echo'));
    expect(ran).to.equal(false);
    stopped.clear();
    pool.look('a');
    await waiting;
    await pool.close();
  });

  it('ends when the last call that waits has left', async () => {
    const pool = createPool({ ...options, stopOf: () => 'own' });
    await pool.start();
    const turn = pool.ticket({ tenant: 'a', weight: 1, most: null });
    const given = turn.run(callTask('echo')).catch((error) => error.message);
    const closing = pool.close();
    turn.release();
    expect(await given).to.equal('the call was given up before its task began');
    await closing;
  });
});

describe('background tasks', () => {
  let pool: Pool;
  let gate: Gate;

  beforeEach(async () => {
    gate = await createGate();
    pool = createPool({ threads: 1, queue: 2, worker: workerSettings });
    await pool.start();
  });
  afterEach(async () => {
    await gate.open();
    await pool.close();
    await gate.close();
  });

  const call = (tenant: string) => pool.ticket({ tenant, weight: 1, most: null });
  const background = (tenant: string) => pool.ticket({ tenant, weight: 1, most: null, background: true });

  it('run after calls, of which none waits for more than one of them, and take no place', async () => {
    const order: string[] = [];
    const note = (name: string) => () => order.push(name);
    const held = background('a').run(callTask('gate', { path: gate.file }));
    const later = Array.from({ length: 20 }, () =>
      background('a').run(callTask('echo')).then(note('background')),
    );
    expect(pool.stats()).to.include({ running: 1, places: 0 });
    const calls = ['b', 'a', 'b'].map((tenant) => call(tenant).run(callTask('echo')).then(note('call')));
    expect(pool.stats()).to.include({ running: 1, places: 3 });
    await gate.open();
    await Promise.all([held, ...later, ...calls]);
    expect(order[0]).to.equal('call');
    expect(order.lastIndexOf('call')).to.be.below(12);
    expect(order).to.have.length(23);
  });

  it('go on while calls wait all the time', async () => {
    await gate.open();
    let left = 5;
    const client = async () => {
      while (left > 0) await call('b').run(callTask('echo'));
    };
    const busy = Array.from({ length: 3 }, client);
    for (; left > 0; left -= 1) await background('a').run(callTask('echo'));
    await Promise.all(busy);
  });

  it('are given back where they wait when those are wanted no more; what runs goes on, and calls too', async () => {
    const running = background('a').run(callTask('gate', { path: gate.file }));
    const waits = background('a')
      .run(callTask('echo'))
      .catch((error) => error.code);
    const called = call('b').run(callTask('echo'));
    pool.handBack();
    expect(await waits).to.equal('shutting_down');
    const late = background('a')
      .run(callTask('echo'))
      .catch((error) => error.code);
    expect(await late).to.equal('shutting_down');
    await gate.open();
    expect((await running).ok).to.equal(true);
    expect((await called).ok).to.equal(true);
  });
});

describe('a helper that times out', () => {
  let pool: Pool;
  let gate: Gate;
  let told: [string, boolean][];

  beforeEach(async () => {
    told = [];
    gate = await createGate();
    pool = createPool({
      threads: 2,
      queue: 50,
      worker: workerSettings,
      onSlowed: (service, isSlowed) => told.push([service, isSlowed]),
    });
    await pool.start();
  });
  afterEach(async () => {
    await gate.open();
    await pool.close();
    await gate.close();
  });

  const run = (tenant: string, task = callTask('gate', { path: gate.file })) =>
    pool.ticket({ tenant, weight: 1, most: null }).run(task);
  const runLate = async () => {
    const error = await rejection(run('a', { ...callTask('gate', { path: gate.file }), timeoutMs: 1 }));
    expect(error.code).to.equal('helper_timeout');
  };

  it('once runs as before', async () => {
    await runLate();
    expect(pool.slowed()).to.deep.equal([]);
    const both = [run('a'), run('a')];
    // A thread may still be taking another's place.
    await until(() => pool.stats().running === 2);
    await gate.open();
    await Promise.all(both);
  });

  it('twice runs one task at a time, and its neighbours go on, until it has answered in time', async () => {
    await runLate();
    await runLate();
    expect(pool.slowed()).to.deep.equal(['gate']);
    const waiting = Array.from({ length: 5 }, () => run('a'));
    // It leaves the threads to others until those that it has cost are there again.
    await until(() => pool.stats().running === 1);
    for (let times = 0; times < 3; times += 1) {
      expect((await run('b', callTask('echo'))).ok).to.equal(true);
      expect(pool.stats().running).to.equal(1);
    }
    await gate.open();
    await Promise.all(waiting);
    expect(pool.slowed()).to.deep.equal([]);
    expect(told).to.deep.equal([
      ['gate', true],
      ['gate', false],
    ]);
  });

  it('is shared by its callers: one with a single call does not wait for all of another’s', async () => {
    await runLate();
    await runLate();
    const order: string[] = [];
    const calls = [...Array.from({ length: 6 }, () => 'a'), 'b'].map((tenant) =>
      run(tenant).then(() => order.push(tenant)),
    );
    await gate.open();
    await Promise.all(calls);
    expect(order.indexOf('b')).to.be.at.most(2);
  });
});
