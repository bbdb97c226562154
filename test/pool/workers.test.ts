import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type { TaskCall } from '../../pool/context/messages.js';
import { importPlugin } from '../../pool/plugin.js';
import { createPool, type Pool } from '../../pool/pool.js';
import { createWorkers, type Workers } from '../../pool/workers.js';
import { fixture } from '../fixtures.js';
import { rejection } from '../gateway/download/raw-server.js';
import { until } from '../needs.js';
import { callTask, workerSettings } from './worker-settings.js';

const whole = { ...workerSettings, lean: false };
const url = pathToFileURL(fixture('plugins/setup/counts.mjs')).href;

describe('a thread that loads what first tasks need', () => {
  it('begins the time of a task that comes meanwhile when it has done so', async () => {
    const threads = createWorkers({
      count: 1,
      settings: whole,
      onChange: () => undefined,
      onFault: () => undefined,
    });
    try {
      await threads.start();
      const call: TaskCall = {};
      const warmed = threads.warm();
      const ran = threads.run(callTask('echo'), call);
      // Whoever leaves can end a task from the moment in which its time begins.
      expect(call.onLeave).to.equal(undefined);
      expect((await ran).ok).to.equal(true);
      expect(call.onLeave).to.be.a('function');
      await warmed;
    } finally {
      await threads.close();
    }
  }).timeout(30_000);

  it('is told of and replaced where it cannot', async () => {
    const told = new EventTarget();
    const faults: string[] = [];
    const threads = createWorkers({
      count: 1,
      settings: { ...whole, fonts: ['/no/such.ttf'] },
      onChange: () => told.dispatchEvent(new Event('change')),
      onFault: ({ message }) => faults.push(message),
    });
    try {
      await threads.start();
      const replaced = once(told, 'change');
      await threads.warm();
      expect(faults).to.have.length(1);
      expect(faults[0]).to.include('what first tasks need').and.include('/no/such.ttf');
      await replaced;
      expect((await threads.run(callTask('echo'))).ok).to.equal(true);
    } finally {
      await threads.close();
    }
  }).timeout(30_000);
});

describe('a start that waits for one thread of several', () => {
  it('is over when that one is ready, and the others follow one after another', async () => {
    const changes = new EventTarget();
    const threads = createWorkers({
      count: 3,
      settings: whole,
      onChange: () => changes.dispatchEvent(new Event('change')),
      onFault: (error) => expect.fail(error.message),
    });
    try {
      expect(await threads.start(1)).to.have.property('engine');
      expect(threads.ready()).to.equal(1);
      await threads.warm();
      expect(threads.ready()).to.equal(1);
      for (const ready of [2, 3]) {
        await once(changes, 'change');
        expect(threads.ready()).to.equal(ready);
      }
    } finally {
      await threads.close();
    }
  }).timeout(30_000);
});

describe('spare threads', () => {
  afterEach(() => {
    delete process.env.TEST_SETUP_HANGS;
  });

  it('come after a first task also where another thread is still starting then', async () => {
    const told = new EventTarget();
    const threads = createWorkers({
      count: 2,
      spares: 1,
      settings: {
        ...whole,
        plugins: Promise.resolve([{ service: 'counts', url, setup: true, config: {} }]),
      },
      onChange: () => told.dispatchEvent(new Event('change')),
      onFault: () => told.dispatchEvent(new Event('fault')),
      // Longer than the time after which spare threads are started.
      setupLimit: () => 1_500,
    });
    try {
      await threads.start(1);
      process.env.TEST_SETUP_HANGS = '1';
      const fault = once(told, 'fault');
      await threads.warm();
      expect((await threads.run(callTask('echo'))).ok).to.equal(true);
      await fault;
      delete process.env.TEST_SETUP_HANGS;
      while (threads.spare() === 0) await once(told, 'change');
      expect(threads.ready()).to.equal(2);
    } finally {
      await threads.close();
    }
  }).timeout(30_000);
});

describe('a thread that replaces another', () => {
  let threads: Workers;

  afterEach(async () => {
    delete process.env.TEST_SETUP_HANGS;
    await threads.close();
  });

  it('is given up where a setup never settles, and another takes its place', async () => {
    const told = new EventTarget();
    threads = createWorkers({
      count: 1,
      settings: {
        ...workerSettings,
        plugins: Promise.resolve([{ service: 'counts', url, setup: true, config: {} }]),
      },
      onChange: () => told.dispatchEvent(new Event('ready')),
      onFault: ({ message }) => {
        if (message.includes('did not settle')) told.dispatchEvent(new Event('gave up'));
      },
      setupLimit: () => 500,
    });
    await threads.start();
    process.env.TEST_SETUP_HANGS = '1';
    const gaveUp = once(told, 'gave up');
    await rejection(threads.run({ ...callTask('counts'), plugin: url, input: { exit: true } }));
    await gaveUp;
    // Others are served meanwhile.
    expect([threads.ready(), threads.missing()]).to.deep.equal([1, ['counts']]);
    expect((await threads.run(callTask('echo'))).ok).to.equal(true);
    delete process.env.TEST_SETUP_HANGS;
    await once(told, 'ready');
    expect(threads.ready()).to.equal(1);
  }).timeout(30_000);
});

describe('what a plugin sets up', function () {
  const url = pathToFileURL(fixture('plugins/setup/counts.mjs')).href;
  const service = 'counts';

  interface PoolSettings {
    threads?: number;
    config?: Record<string, string>;
    onDemand?: boolean;
    spares?: number;
  }

  // It starts threads that are lost and come back.
  this.timeout(30_000);

  let folder: string;
  let file: string;
  let pool: Pool;
  let faults: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    file = join(folder, 'said');
    faults = [];
  });
  afterEach(async () => {
    delete process.env.TEST_SETUP_BROKEN;
    delete process.env.TEST_SETUP_HANGS;
    await pool.close();
    await rm(folder, { recursive: true });
  });

  function poolOf({ threads = 1, config = {}, onDemand = false, spares = 0 }: PoolSettings = {}): Pool {
    const module = { service, url, setup: true, config: { file, ...config }, secrets: Object.values(config) };
    pool = createPool({
      threads,
      queue: 9,
      spares,
      worker: {
        ...workerSettings,
        lean: spares === 0,
        ...(onDemand ? { hooks: { onDemand: () => module } } : { plugins: Promise.resolve([module]) }),
      },
      onFault: ({ message }) => faults.push(message),
    });
    return pool;
  }

  const said = async () => (await readFile(file, 'utf8')).trim().split('\n');

  async function counted(input = {}): Promise<unknown> {
    const context = { service, request_id: 'r' };
    const task = { kind: 'call', plugin: url, does: 'handler', input, context } as const;
    const outcome = await pool.ticket({ tenant: 'a', weight: 1, most: null }).run(task);
    return (
      outcome.ok &&
      'bytes' in outcome.value &&
      JSON.parse(Buffer.from(outcome.value.bytes).toString()).counted
    );
  }

  it('is there once a thread, and let go when the thread is closed', async () => {
    await poolOf({ threads: 2 }).start();
    expect(await said()).to.deep.equal(['up', 'up']);
    expect([await counted(), await counted()]).to.deep.equal([1, 2]);
    await pool.close();
    expect(await said()).to.deep.equal(['up', 'up', 'down', 'down']);
  });

  it('is made again in the thread that replaces another', async () => {
    await poolOf().start();
    await counted();
    expect((await rejection(counted({ exit: true }))).code).to.equal('internal');
    expect(await counted()).to.equal(1);
    expect((await said()).slice(0, 2)).to.deep.equal(['up', 'up']);
  });

  it('is there before a thread is lost where a spare one is kept', async () => {
    await poolOf({ spares: 1 }).start();
    expect(await counted()).to.equal(1);
    await until(async () => (await said()).length === 2);
    // Its setup is the last that it does before it is kept.
    await sleep(200);
    // Whatever is started from now on is never ready.
    process.env.TEST_SETUP_HANGS = '1';
    await rejection(counted({ exit: true }));
    expect(await counted()).to.equal(1);
  });

  it('stops the start at once where that fails, with the file and the reason, but no secret', async () => {
    const { message } = await rejection(poolOf({ config: { fails: 'a-password' } }).start());
    expect(message).to.match(/counts\.mjs: setup failed: RangeError: cannot sign in with \[secret\]$/);
    expect(await said()).to.deep.equal(['up']);
    expect(faults).to.deep.equal([]);
  });

  it('is tried again, and other calls do not wait for it, where it fails in a thread that replaces another', async () => {
    await poolOf().start();
    process.env.TEST_SETUP_BROKEN = '1';
    await rejection(counted({ exit: true }));
    await until(() => faults.some((fault) => fault.includes('broken for now')));
    expect([pool.stats().threads, pool.missing()]).to.deep.equal([1, ['counts']]);
    delete process.env.TEST_SETUP_BROKEN;
    expect(await counted()).to.equal(1);
  });

  it('may wait for the first call', async () => {
    await poolOf({ onDemand: true }).start();
    expect([await counted(), await counted()]).to.deep.equal([1, 2]);
    expect(await said()).to.deep.equal(['up']);
  });

  it('fails that call alone where it waits for one', async () => {
    await poolOf({ onDemand: true, config: { fails: 'a-password' } }).start();
    expect((await rejection(counted())).message).to.match(/counts\.mjs: setup failed/);
    expect((await rejection(counted())).message).to.match(/counts\.mjs: setup failed/);
  });
});

const pluginModule = (service: string) => ({
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
        plugins: Promise.resolve([{ ...pluginModule(service), shipped }]),
        taskTimeoutMs,
      },
      onFault: ({ message }) => faults.push(message),
    });
    return pool;
  }

  const run = (service: string) =>
    (pool as Pool).ticket({ tenant: 'a', weight: 1, most: null }).run({
      kind: 'call',
      plugin: pluginModule(service).url,
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
    const error = await importPlugin(pluginModule('never'), { timeoutMs: 50 }).catch((thrown) => thrown);
    clearInterval(keepAlive);
    expect((error as Error).message).to.match(/never did not settle within 50 ms/);
  });
});
