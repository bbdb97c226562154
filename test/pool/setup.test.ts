import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createPool, type Pool } from '../../pool/pool.js';
import { fixture } from '../fixtures.js';
import { rejection } from '../gateway/source/raw-server.js';
import { until } from '../until.js';
import { workerSettings } from './worker-settings.js';

const url = pathToFileURL(fixture('plugins/setup/counts.mjs')).href;
const service = 'counts';

interface PoolSettings {
  threads?: number;
  config?: Record<string, string>;
  onDemand?: boolean;
  spares?: number;
}

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
    const outcome = await pool.turn({ tenant: 'a', weight: 1, most: null }).run(task);
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
    await until(() => pool.first.threads.spare() === 1);
    expect(await said()).to.deep.equal(['up', 'up']);
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
