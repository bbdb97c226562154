import { expect } from 'chai';
import type { Asker } from '../../pool/asker.js';
import { createPool, type Pool, type PoolOptions } from '../../pool/pool.js';
import { createGate } from '../gateway/gate.js';
import { callTask } from './call-task.js';
import { workerSettings } from './worker-settings.js';

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

  const turn = (tenant: string) => pool.turn({ tenant, weight: 1, most: null });

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
    const starts: { waitMs: number; asker: Asker }[] = [];
    pool.watch((waitMs, asker) => starts.push({ waitMs, asker }));
    const asker = { tenant: 'a', weight: 3, most: null, behind: true };
    const held = pool.turn(asker).run(callTask('sleep', { ms: 20 }));
    const waiting = turn('b').run(callTask('echo'));
    const { ms } = await held;
    await waiting;
    expect(starts.map(({ asker }) => asker.tenant)).to.deep.equal(['a', 'b']);
    expect(starts[0]?.asker).to.equal(asker);
    // The other may have begun some time before this one came.
    expect(starts[1]?.waitMs).to.be.at.least(ms / 2);
  });

  it('takes what was expected and has arrived, also past its bound', async () => {
    const late = turn('a');
    await late.expect();
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
    first.leave();
  });

  it('holds a running task’s place to its end, and gives up one that waits', async () => {
    const gate = await createGate();
    const running = turn('a');
    const waiting = turn('a');
    const done = running.run(callTask('gate', { path: gate.file }));
    const given = waiting.run(callTask('sleep', { ms: 50 })).catch((error) => error.message);
    running.leave();
    waiting.leave();
    expect(await given).to.equal('the call was given up before its turn');
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
      .turn({ tenant: 'a', weight: 1, most: null })
      .run(callTask('echo'))
      .then(() => {
        ran = true;
      });
    await pool.turn({ tenant: 'b', weight: 1, most: null }).run(callTask('echo'));
    expect(ran).to.equal(false);
    stopped.clear();
    pool.look('a');
    await waiting;
    await pool.close();
  });

  it('ends when the last call that waits has left', async () => {
    const pool = createPool({ ...options, stopOf: () => 'own' });
    await pool.start();
    const turn = pool.turn({ tenant: 'a', weight: 1, most: null });
    const given = turn.run(callTask('echo')).catch((error) => error.message);
    const closing = pool.close();
    turn.leave();
    expect(await given).to.equal('the call was given up before its turn');
    await closing;
  });
});
