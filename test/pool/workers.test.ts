import { EventEmitter, once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import sharp from 'sharp';
import type { TaskCall } from '../../pool/context/messages.js';
import type { PoolError } from '../../pool/errors.js';
import { importPlugin } from '../../pool/plugin.js';
import type { Pool, PoolOptions } from '../../pool/pool.js';
import { createWorkers, type Workers, type WorkersOptions } from '../../pool/workers.js';
import { fixture } from '../fixtures.js';
import { rejection } from '../gateway/download/raw-server.js';
import { until } from '../needs.js';
import { plain, pngOf } from './image/pictures.js';
import { callTask, codeOf, dataOf, poolOf, run, workerSettings } from './worker-settings.js';

const whole = { ...workerSettings, lean: false };
const echo = callTask('echo');
const url = pathToFileURL(fixture('plugins/setup/counts.mjs')).href;
const counts = { service: 'counts', url, setup: true, config: {} };

describe('worker threads', function () {
  // Some start threads that are lost and come back.
  this.timeout(30_000);

  let threads: Workers;
  let events: EventEmitter;
  let faults: string[];

  beforeEach(() => {
    events = new EventEmitter();
    faults = [];
  });
  afterEach(async () => {
    delete process.env.TEST_SETUP_HANGS;
    await threads.close();
  });

  const create = (options: Partial<WorkersOptions> = {}) => {
    const onFault = ({ message }: Error) => {
      faults.push(message);
      events.emit('fault');
    };
    threads = createWorkers({
      count: 1,
      settings: whole,
      onChange: () => events.emit('change'),
      onFault,
      ...options,
    });
    return threads;
  };

  it('begin the time of a task that comes while they load what first tasks need when they have done so', async () => {
    await create().start();
    const call: TaskCall = {};
    const warmed = threads.warm();
    const ran = threads.run(echo, call);
    // A client that leaves can end a task from the moment in which its time begins.
    expect(call.onLeave).to.equal(undefined);
    expect((await ran).ok).to.equal(true);
    expect(call.onLeave).to.be.a('function');
    await warmed;
  });

  it('are reported and replaced where they cannot load that', async () => {
    await create({ settings: { ...whole, fonts: ['/no/such.ttf'] } }).start();
    const replaced = once(events, 'change');
    await threads.warm();
    expect(faults).to.have.length(1);
    expect(faults[0]).to.include('what first tasks need').and.include('/no/such.ttf');
    await replaced;
    expect((await threads.run(echo)).ok).to.equal(true);
  });

  it('follow one after another where a start waits for one of several', async () => {
    expect(await create({ count: 3 }).start(1)).to.have.property('engine');
    expect(threads.ready()).to.equal(1);
    await threads.warm();
    for (const ready of [2, 3]) {
      await once(events, 'change');
      expect(threads.ready()).to.equal(ready);
    }
    expect(faults).to.deep.equal([]);
  });

  it('have a spare one after a first task also where another is still starting then', async () => {
    const settings = { ...whole, plugins: Promise.resolve([counts]) };
    // Longer than the time after which spare threads are started.
    await create({ count: 2, spares: 1, settings, setupLimit: () => 1_500 }).start(1);
    process.env.TEST_SETUP_HANGS = '1';
    const fault = once(events, 'fault');
    await threads.warm();
    expect((await threads.run(echo)).ok).to.equal(true);
    await fault;
    delete process.env.TEST_SETUP_HANGS;
    while (threads.spare() === 0) await once(events, 'change');
    expect(threads.ready()).to.equal(2);
  });

  it('are given up where a setup never settles, and others take their place', async () => {
    const settings = { ...workerSettings, plugins: Promise.resolve([counts]) };
    await create({ settings, setupLimit: () => 3_000 }).start();
    process.env.TEST_SETUP_HANGS = '1';
    await rejection(threads.run(callTask('counts', { exit: true }, url)));
    // Others are served before and after.
    await until(() => threads.ready() === 1);
    expect((await threads.run(echo)).ok).to.equal(true);
    expect(faults).to.deep.equal([]);
    while (!faults.some((fault) => fault.includes('did not settle'))) await once(events, 'fault');
    expect([threads.ready(), threads.missing()]).to.deep.equal([1, ['counts']]);
    expect((await threads.run(echo)).ok).to.equal(true);
    delete process.env.TEST_SETUP_HANGS;
    await once(events, 'change');
    expect(threads.ready()).to.equal(1);
  });
});

describe('what a plugin sets up', function () {
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
    for (const how of ['BROKEN', 'EXITS', 'HANGS']) delete process.env[`TEST_SETUP_${how}`];
    await pool.close();
    await rm(folder, { recursive: true });
  });

  interface Options extends Partial<PoolOptions> {
    config?: Record<string, string>;
    onDemand?: boolean;
  }

  function start({ config = {}, onDemand = false, ...options }: Options = {}) {
    const module = { ...counts, config: { file, ...config }, secrets: Object.values(config) };
    const plugins = onDemand ? { hooks: { onDemand: () => module } } : { plugins: Promise.resolve([module]) };
    pool = poolOf({
      worker: { ...workerSettings, lean: !options.spares, ...plugins },
      onFault: ({ message }) => faults.push(message),
      ...options,
    });
    return pool.start();
  }

  const said = async () => (await readFile(file, 'utf8')).trim().split('\n');
  const counted = async (input = {}) => dataOf(await run(pool, callTask('counts', input, url))).counted;
  const echoes = async () => expect((await run(pool, echo)).ok).to.equal(true);
  const untilItWorks = () => until(() => counted().catch(() => undefined));

  /** From now on setup fails, and the only thread has ended. */
  async function lose(how: string): Promise<void> {
    process.env[how] = '1';
    expect(await codeOf(counted({ exit: true }))).to.equal('internal');
  }

  it('is there once a thread, and let go when the thread is closed', async () => {
    await start({ threads: 2 });
    expect(await said()).to.deep.equal(['up', 'up']);
    expect([await counted(), await counted()]).to.deep.equal([1, 2]);
    await pool.close();
    expect(await said()).to.deep.equal(['up', 'up', 'down', 'down']);
  });

  it('is there before a thread is lost where a spare one is ready', async () => {
    await start({ spares: 1 });
    expect(await counted()).to.equal(1);
    await until(async () => (await said()).length === 2);
    // Its setup is the last that it does before it is ready.
    await sleep(200);
    // Whatever is started from now on is never ready.
    process.env.TEST_SETUP_HANGS = '1';
    await rejection(counted({ exit: true }));
    expect(await counted()).to.equal(1);
  });

  it('stops the start at once where that fails, with the file and the reason, but no secret', async () => {
    const { message } = await rejection(start({ config: { fails: 'a-password' } }));
    expect(message).to.match(/counts\.mjs: setup failed: RangeError: cannot sign in with \[secret\]$/);
    expect(await said()).to.deep.equal(['up']);
    expect(faults).to.deep.equal([]);
  });

  for (const how of ['TEST_SETUP_BROKEN', 'TEST_SETUP_EXITS']) {
    it(`is refused where it fails in a thread that replaces another, while others are served: ${how}`, async () => {
      await start();
      await lose(how);
      // It begins before it is known that there will be no thread for it.
      const waiting = rejection(counted());
      await echoes();
      const { code, message, retryAfter, expose } = (await waiting) as unknown as PoolError;
      expect({ code, expose }).to.deep.equal({ code: 'busy', expose: true });
      expect(message).to.match(/^counts cannot be loaded at the moment/);
      expect(retryAfter).to.be.at.least(1);
      expect(await codeOf(counted())).to.equal('busy');
      expect(pool.stats()).to.include({ threads: 1, running: 0, places: 0 });
      expect(pool.missing()).to.deep.equal(['counts']);
      expect(faults.join('\n')).to.match(/counts\.mjs: .*setup/);
      delete process.env[how];
      await untilItWorks();
      expect(pool.missing()).to.deep.equal([]);
      await echoes();
    });
  }

  it('fails without harm to the others’ threads, which are replaced at once, or to the pool’s end', async () => {
    await start();
    await lose('TEST_SETUP_BROKEN');
    await rejection(counted());
    for (let times = 0; times < 3; times += 1) {
      expect(await codeOf(run(pool, callTask('exit')))).to.equal('internal');
      await echoes();
    }
    expect(await codeOf(counted())).to.equal('busy');
    await pool.close();
    expect(await codeOf(run(pool, echo))).to.equal('shutting_down');
  });

  it('is waited for where it fails only once', async () => {
    await start();
    await lose('TEST_SETUP_BROKEN');
    const waiting = counted();
    await until(() => faults.some((fault) => fault.includes('broken for now')));
    delete process.env.TEST_SETUP_BROKEN;
    expect(await waiting).to.equal(1);
  });

  it('may wait for the first call, which alone fails where it does', async () => {
    await start({ onDemand: true });
    expect([await counted(), await counted()]).to.deep.equal([1, 2]);
    expect(await said()).to.deep.equal(['up']);
    await pool.close();
    await start({ onDemand: true, config: { fails: 'a-password' } });
    for (let times = 0; times < 2; times += 1) {
      expect((await rejection(counted())).message).to.match(/counts\.mjs: setup failed/);
    }
  });
});

describe('the plugins of a call’s steps', function () {
  this.timeout(30_000);
  const [copy, choosy] = ['copy', 'choosy'].map((service) => ({
    service,
    url: pathToFileURL(fixture(`plugins/steps/steps/${service}.mjs`)).href,
  })) as [{ service: string; url: string }, { service: string; url: string }];
  const modules = [copy, choosy];
  let pool: Pool;
  afterEach(() => pool.close());

  async function runSteps(...chosen: typeof modules) {
    const bytes = new Uint8Array(await pngOf(plain(20, 10, [9, 90, 200])));
    const steps = chosen.map(({ service, url }) => ({
      service,
      plugin: url,
      input: { level: 1, format: 'webp' },
      names: {},
    }));
    const task = {
      ...callTask('pipeline', { format: 'png' }, ''),
      steps,
      files: { file: { bytes, type: '' } },
    };
    const outcome = await run(pool, task);
    if (!outcome.ok || !('bytes' in outcome.value)) throw new Error(JSON.stringify(outcome));
    const { width, height } = await sharp(outcome.value.bytes).metadata();
    return `${width} × ${height}`;
  }

  it('are loaded by a thread that replaces another, one after another', async () => {
    pool = poolOf({ worker: { ...workerSettings, lean: false, plugins: Promise.resolve(modules) } });
    await pool.start();
    expect(await runSteps(copy, choosy, copy)).to.equal('26 × 16');
    expect(await codeOf(run(pool, callTask('exit')))).to.equal('internal');
    expect(await runSteps(choosy, copy)).to.equal('24 × 14');
  });

  it('are loaded with the first call that needs them', async () => {
    const onDemand = (url: string) => modules.find((each) => each.url === url);
    pool = poolOf({ worker: { ...workerSettings, hooks: { onDemand } } });
    await pool.start();
    expect(await runSteps(choosy, copy)).to.equal('24 × 14');
  });
});

describe('a pool’s plugins', function () {
  this.timeout(30_000);

  let pool: Pool;
  let faults: string[];

  const moduleOf = (service: string) => ({
    service,
    url: pathToFileURL(fixture(`plugins/loading/${service}.mjs`)).href,
  });

  function start(service: string, { threads = 2, taskTimeoutMs = 10_000, shipped = false } = {}) {
    faults = [];
    const plugins = Promise.resolve([{ ...moduleOf(service), shipped }]);
    pool = poolOf({
      threads,
      worker: { ...workerSettings, plugins, taskTimeoutMs },
      onFault: ({ message }) => faults.push(message),
    });
    return pool.start();
  }

  const call = (service: string) => run(pool, callTask(service, {}, moduleOf(service).url));

  afterEach(async () => {
    delete process.env.TEST_FLAKY;
    delete process.env.TEST_DIES;
    await pool.close();
  });

  it('are loaded before they are called: that is no task’s time', async () => {
    await start('slow', { taskTimeoutMs: 2_000 });
    expect(pool.stats().threads).to.equal(2);
    expect((await call('slow')).ok).to.equal(true);
  });

  it('that cannot be loaded for a moment are loaded by the next thread', async () => {
    process.env.TEST_FLAKY = '1';
    const started = start('flaky');
    await until(() => faults.length > 0);
    // A thread is given the variables as they are when it starts.
    delete process.env.TEST_FLAKY;
    await started;
    expect((await call('flaky')).ok).to.equal(true);
    expect(faults[0]).to.match(/cannot load the plugin flaky: Error: too many open files/);
    expect(pool.missing()).to.deep.equal([]);
  });

  it('that no thread can load, or that end it, stop the start, by name', async () => {
    process.env.TEST_FLAKY = '1';
    expect((await rejection(start('flaky', { threads: 1 }))).message).to.match(/the plugin flaky/);
    expect([pool.stats().threads, pool.missing()]).to.deep.equal([0, ['flaky']]);
    await pool.close();
    process.env.TEST_DIES = 'import';
    const { message } = await rejection(start('dies', { threads: 1 }));
    expect(message).to.match(/ended while it loaded the plugin dies/);
  });

  it('that end each thread later are reported, and the threads replaced with a pause', async () => {
    process.env.TEST_DIES = 'later';
    await start('dies');
    await until(() => faults.length >= 2);
    delete process.env.TEST_DIES;
    await until(() => pool.stats().threads === 2);
    expect((await call('dies')).ok).to.equal(true);
    expect(faults.length).to.be.below(20);
  });

  it('are not guarded where they are the package’s own: their promises are not followed', async () => {
    await start('async-ids', { shipped: true });
    expect(dataOf(await call('async-ids'))).to.deep.equal({ followed: false });
  });

  it('are named where loading never ends', async () => {
    const keepAlive = setInterval(() => undefined, 1000);
    const { message } = await rejection(importPlugin(moduleOf('never'), { timeoutMs: 50 }));
    clearInterval(keepAlive);
    expect(message).to.match(/never did not settle within 50 ms/);
  });
});
