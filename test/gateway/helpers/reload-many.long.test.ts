import { readdir } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { until } from '../../until.js';
import { answering, createReloadWorld, type ReloadWorld } from './reload-world.js';

/** All of them where that is asked for, as CI does once; they take minutes. */
const isWhole = process.env.TEST_RELOADS === 'all';
const [reloads, warmUp] = isWhole ? [500, 100] : [60, 20];

interface Held {
  heap: number;
  rss: number;
  threads: number;
  resources: number;
}

describe(`${reloads} reloads one after another`, () => {
  let world: ReloadWorld;
  let collect: () => void;

  before(async () => {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
    world = await createReloadWorld();
    await reloadTo(0);
  });

  after(() => world.close());

  async function reloadTo(version: number): Promise<void> {
    await world.write('shout.mjs', answering(version));
    await world.reload('shout.mjs');
  }

  async function held(): Promise<Held> {
    await new Promise((resolve) => setTimeout(resolve, 200));
    collect();
    const { heapUsed, rss } = process.memoryUsage();
    const tasks = await readdir('/proc/self/task').catch(() => []);
    const resources = process.getActiveResourcesInfo().length;
    return { heap: heapUsed, rss, threads: tasks.length, resources };
  }

  it('fail no call, and hold no more in the end than after the first', async function () {
    this.timeout(1_800_000);
    let ended = false;
    let calls = 0;
    const caller = async () => {
      for (let last = 0; !ended; ) {
        const version = Number(await world.call('shout'));
        expect(version).to.be.at.least(last);
        last = version;
        calls += 1;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    const callers = Promise.all([caller(), caller(), caller()]);
    const reloadAmongCalls = async (version: number) => {
      const made = calls;
      await reloadTo(version);
      await until(() => calls > made);
    };
    for (let version = 1; version <= warmUp; version += 1) await reloadAmongCalls(version);
    const before = await held();
    for (let version = warmUp + 1; version <= reloads; version += 1) await reloadAmongCalls(version);
    const names = ['heap', 'threads', 'resources'] as const;
    // What the C library keeps for threads to come has reached its size only after some fifty of them.
    const counted = isWhole ? [...names, 'rss' as const] : names;
    const grown = (now: Held) => counted.filter((name) => now[name] > before[name] * 1.2);
    let after = await held();
    // The last threads end when they get to it, and the callers go on.
    for (let tries = 0; grown(after).length > 0 && tries < 50; tries += 1) after = await held();
    ended = true;
    await callers;
    expect(await world.call('shout')).to.equal(reloads);
    for (const name of grown(after)) expect(after[name], name).to.be.at.most(before[name] * 1.2);
  });
});
