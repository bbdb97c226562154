import { expect } from 'chai';
import { createPool, type Pool } from '../../pool/pool.js';
import { createGate, type Gate } from '../gateway/gate.js';
import { callTask } from './call-task.js';
import { workerSettings } from './worker-settings.js';

describe('tasks behind all calls', () => {
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

  const call = (tenant: string) => pool.turn({ tenant, weight: 1, most: null });
  const behind = (tenant: string) => pool.turn({ tenant, weight: 1, most: null, behind: true });

  it('run behind calls, of which none waits for more than one of them, and take no place', async () => {
    const order: string[] = [];
    const note = (name: string) => () => order.push(name);
    const held = behind('a').run(callTask('gate', { path: gate.file }));
    const later = Array.from({ length: 20 }, () => behind('a').run(callTask('echo')).then(note('behind')));
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
    for (; left > 0; left -= 1) await behind('a').run(callTask('echo'));
    await Promise.all(busy);
  });

  it('are given back where they wait when those are wanted no more; what runs goes on, and calls too', async () => {
    const running = behind('a').run(callTask('gate', { path: gate.file }));
    const waits = behind('a')
      .run(callTask('echo'))
      .catch((error) => error.code);
    const called = call('b').run(callTask('echo'));
    pool.handBack();
    expect(await waits).to.equal('shutting_down');
    const late = behind('a')
      .run(callTask('echo'))
      .catch((error) => error.code);
    expect(await late).to.equal('shutting_down');
    await gate.open();
    expect((await running).ok).to.equal(true);
    expect((await called).ok).to.equal(true);
  });
});
