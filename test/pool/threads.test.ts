import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type { TaskCall } from '../../pool/context/task-host.js';
import { createThreads, type Threads } from '../../pool/threads.js';
import { fixture } from '../fixtures.js';
import { rejection } from '../gateway/source/raw-server.js';
import { callTask } from './call-task.js';
import { workerSettings } from './worker-settings.js';

const whole = { ...workerSettings, lean: false };
const url = pathToFileURL(fixture('plugins/setup/counts.mjs')).href;

describe('a thread that loads what first tasks need', () => {
  it('begins the time of a task that comes meanwhile when it has done so', async () => {
    const threads = createThreads({
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
    const threads = createThreads({
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
    const threads = createThreads({
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
    const threads = createThreads({
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
  let threads: Threads;

  afterEach(async () => {
    delete process.env.TEST_SETUP_HANGS;
    await threads.close();
  });

  it('is given up where a setup never settles, and another takes its place', async () => {
    const told = new EventTarget();
    threads = createThreads({
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
