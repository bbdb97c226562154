import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../client.js';
import { factsOf, resetPeak } from '../process-facts.js';
import type { Scenario } from '../scenario.js';
import { watchHealth } from '../watch.js';
import { costlyBodies } from './costly-bodies.js';

/** What a process's memory moves by on its own, in megabytes. */
const noiseMb = 40;

/** Each costly body by itself: it may not hold up the main thread, nor take memory out of proportion to its size. */
export const singleRequests = (mostMs = 50): Scenario => ({
  name: 'must hold: one request of up to 10 MB',
  async attack(world, { tally, scale }) {
    const client = createClient(world.url, 1);
    const health = await watchHealth(world, 4);
    for (const { name, call } of costlyBodies(world.key)) {
      for (let times = 0; times < scale.calls && world.alive(); times += 1) {
        const sizeMb = Buffer.byteLength(call.body ?? '') / 1024 ** 2;
        const before = factsOf(world.pid);
        resetPeak(world.pid);
        await health.lap();
        const { status } = await client.call(call);
        tally.count(status);
        await sleep(20);
        const { maxExcessMs } = await health.lap();
        if (!world.alive()) tally.fault(`${name}: the gateway ended`);
        if (maxExcessMs > mostMs)
          tally.fault(`${name}: the main thread was held up for ${maxExcessMs.toFixed(0)} ms`);
        const riseMb = (factsOf(world.pid)?.peakMb ?? 0) - (before?.rssMb ?? 0);
        if (before && riseMb > 4 * sizeMb + noiseMb) {
          tally.fault(`${name}: memory rose by ${riseMb.toFixed(0)} MB for ${sizeMb.toFixed(1)} MB`);
        }
        if (status >= 500) tally.fault(`${name}: answered ${status}`);
      }
    }
    await health.stop();
    client.close();
  },
});

/** All of them at once, again and again, with what two clients can send. */
export const costlyAtOnce: Scenario = {
  name: 'costly bodies at once',
  async attack(world, { tally, scale }) {
    const client = createClient(world.url, 2);
    const bodies = costlyBodies(world.key);
    const end = performance.now() + scale.seconds * 1000;
    const goesOn = () => world.alive() && performance.now() < end;
    const send = async (from: number) => {
      for (let at = from; goesOn(); at += 2) {
        tally.count((await client.call(bodies[at % bodies.length]?.call ?? { path: '/' })).status);
      }
    };
    await Promise.all([send(0), send(1)]);
    client.close();
  },
};
