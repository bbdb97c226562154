import { expect } from 'chai';
import { createPool, type Pool } from '../../pool/pool.js';
import { createGate, type Gate } from '../gateway/gate.js';
import { rejection } from '../gateway/source/raw-server.js';
import { until } from '../until.js';
import { callTask } from './call-task.js';
import { workerSettings } from './worker-settings.js';

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
    pool.turn({ tenant, weight: 1, most: null }).run(task);
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
