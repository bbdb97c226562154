import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type { PoolError } from '../../pool/errors.js';
import { createPool, type Pool } from '../../pool/pool.js';
import type { CallTask } from '../../pool/task.js';
import { fixture } from '../fixtures.js';
import { rejection } from '../gateway/download/raw-server.js';
import { callTask, workerSettings } from './worker-settings.js';

const requester = { tenant: 'a', weight: 1, most: null };
const url = pathToFileURL(fixture('plugins/setup/counts.mjs')).href;
const echo = callTask('echo', { text: 'x' });
const variables = ['TEST_SETUP_BROKEN', 'TEST_SETUP_EXITS'] as const;
const hangs = 'TEST_SETUP_HANGS';

describe('a plugin whose setup fails after its thread was lost', () => {
  let pool: Pool;
  let faults: string[];

  beforeEach(async () => {
    faults = [];
    pool = createPool({
      threads: 1,
      queue: 50,
      worker: {
        ...workerSettings,
        plugins: Promise.resolve([
          { service: 'counts', url, setup: true, config: {} },
          { service: 'echo', url: echo.plugin },
        ]),
      },
      onFault: ({ message }) => faults.push(message),
    });
    await pool.start();
  });
  afterEach(async () => {
    for (const name of [...variables, hangs]) delete process.env[name];
    await pool.close();
  });

  const run = (task: CallTask) => pool.ticket(requester).run(task);
  const counts = (input = {}) => run({ ...callTask('counts'), plugin: url, input });

  /** From now on setup fails, and the only thread has ended. */
  async function lose(how: string): Promise<void> {
    process.env[how] = '1';
    expect((await rejection(counts({ exit: true }))).code).to.equal('internal');
  }

  async function untilItWorks(): Promise<void> {
    while (
      !(await counts().then(
        ({ ok }) => ok,
        () => false,
      ))
    ) {
      await setImmediate();
    }
  }

  for (const how of variables) {
    it(`is refused, the others are served, and it comes back by itself: ${how}`, async () => {
      await lose(how);
      // Began before anybody knows that there will be no thread for it.
      const waiting = rejection(counts());
      expect((await run(echo)).ok).to.equal(true);
      const { code, message, retryAfter, expose } = (await waiting) as unknown as PoolError;
      expect({ code, expose }).to.deep.equal({ code: 'busy', expose: true });
      expect(message).to.match(/^counts cannot be loaded at the moment/);
      expect(retryAfter).to.be.at.least(1);
      expect((await rejection(counts())).code).to.equal('busy');
      expect(pool.stats()).to.include({ threads: 1, running: 0, places: 0 });
      expect(pool.missing()).to.deep.equal(['counts']);
      expect(faults.join('\n')).to.match(/counts\.mjs: .*setup/);
      delete process.env[how];
      await untilItWorks();
      expect(pool.missing()).to.deep.equal([]);
      expect((await run(echo)).ok).to.equal(true);
    });
  }

  it('does not keep a thread that serves the others from being replaced at once', async () => {
    await lose('TEST_SETUP_BROKEN');
    await rejection(counts());
    for (let times = 0; times < 3; times += 1) {
      expect((await rejection(run(callTask('exit')))).code).to.equal('internal');
      expect((await run(echo)).ok).to.equal(true);
    }
    expect((await rejection(counts())).code).to.equal('busy');
    delete process.env.TEST_SETUP_BROKEN;
    await untilItWorks();
  });

  it('keeps no call of another waiting, however long it takes', async () => {
    await lose(hangs);
    const waiting = counts();
    for (let times = 0; times < 3; times += 1) expect((await run(echo)).ok).to.equal(true);
    expect((await rejection(run(callTask('exit')))).code).to.equal('internal');
    expect((await run(echo)).ok).to.equal(true);
    waiting.catch(() => undefined);
  });

  it('waits for its thread where the setup fails only once', async () => {
    await lose('TEST_SETUP_BROKEN');
    const waiting = counts();
    while (faults.length === 0) await setImmediate();
    delete process.env.TEST_SETUP_BROKEN;
    expect((await waiting).ok).to.equal(true);
  });

  it('stops no pool from closing', async () => {
    await lose('TEST_SETUP_BROKEN');
    await rejection(counts());
    await pool.close();
    expect((await rejection(run(echo))).code).to.equal('shutting_down');
  });
});
