import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { importPlugin } from '../../pool/plugin-module.js';
import { createPool, type Pool } from '../../pool/pool.js';
import { fixture } from '../fixtures.js';
import { until } from '../until.js';
import { workerSettings } from './worker-settings.js';

const module = (service: string) => ({
  service,
  url: pathToFileURL(fixture(`plugins/loading/${service}.mjs`)).href,
});

describe('a pool’s plugins', () => {
  let pool: Pool | undefined;
  let faults: string[];

  function poolOf(service: string, { threads = 2, taskTimeoutMs = 10_000, shipped = false } = {}): Pool {
    faults = [];
    pool = createPool({
      threads,
      queue: 9,
      worker: {
        ...workerSettings,
        plugins: Promise.resolve([{ ...module(service), shipped }]),
        taskTimeoutMs,
      },
      onFault: ({ message }) => faults.push(message),
    });
    return pool;
  }

  const run = (service: string) =>
    (pool as Pool).turn({ tenant: 'a', weight: 1, most: null }).run({
      kind: 'call',
      plugin: module(service).url,
      does: 'handler',
      input: {},
      context: { service, request_id: 'r' },
    });

  afterEach(async () => {
    delete process.env.TEST_FLAKY;
    delete process.env.TEST_DIES;
    await pool?.close();
  });

  it('are loaded before they are called: that is no task’s time', async () => {
    await poolOf('slow', { taskTimeoutMs: 2_000 }).start();
    expect((pool as Pool).stats().threads).to.equal(2);
    expect((await run('slow')).ok).to.equal(true);
  });

  it('that cannot be loaded for a moment are loaded by the next thread', async () => {
    process.env.TEST_FLAKY = '1';
    const started = poolOf('flaky').start();
    await until(() => faults.length > 0);
    // A thread is given the variables as they are when it starts.
    delete process.env.TEST_FLAKY;
    await started;
    expect((await run('flaky')).ok).to.equal(true);
    expect(faults[0]).to.match(/cannot load the plugin flaky: Error: too many open files/);
    expect((pool as Pool).missing()).to.deep.equal([]);
  });

  it('that no thread can load stop the start, by name', async () => {
    process.env.TEST_FLAKY = '1';
    const error = await poolOf('flaky', { threads: 1 })
      .start()
      .catch((thrown) => thrown);
    expect(error.message).to.match(/the plugin flaky/);
    expect((pool as Pool).stats().threads).to.equal(0);
    expect((pool as Pool).missing()).to.deep.equal(['flaky']);
  }).timeout(30_000);

  it('that end the thread while they load stop the start, by name', async () => {
    process.env.TEST_DIES = 'import';
    const error = await poolOf('dies', { threads: 1 })
      .start()
      .catch((thrown) => thrown);
    expect(error.message).to.match(/ended while it loaded the plugin dies/);
  });

  it('that end each thread later are told, and the threads replaced with a pause', async () => {
    process.env.TEST_DIES = 'later';
    await poolOf('dies').start();
    await until(() => faults.length >= 2);
    delete process.env.TEST_DIES;
    await until(() => (pool as Pool).stats().threads === 2);
    expect((await run('dies')).ok).to.equal(true);
    expect(faults.length).to.be.below(20);
  });

  it('are not guarded where they are the package’s own: nobody follows their promises', async () => {
    await poolOf('async-ids', { shipped: true }).start();
    const outcome = await run('async-ids');
    if (!outcome.ok || !('bytes' in outcome.value)) throw new Error('it has no answer');
    expect(Buffer.from(outcome.value.bytes).toString()).to.equal('{"followed":false}');
  });

  it('are told of where loading never ends', async () => {
    const keepAlive = setInterval(() => undefined, 1000);
    const error = await importPlugin(module('never'), { timeoutMs: 50 }).catch((thrown) => thrown);
    clearInterval(keepAlive);
    expect((error as Error).message).to.match(/never did not settle within 50 ms/);
  });
});
