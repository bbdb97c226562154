import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../client.js';
import type { Scenario } from '../scenario.js';
import type { World } from '../world.js';

/** Share of what the gateway can do that it must still do when four times as much is asked of it. */
const least = 0.9;

/** The source answers after 100 ms, as one far away does. */
function callOf(world: World) {
  const url = encodeURIComponent(`${world.source}/picture?ms=100`);
  return { path: `/media/add-watermark?text=x&format=webp&ak=${world.key}&url=${url}` };
}

/** Calls a second that are served while so many wait at a time. */
async function capacity(world: World, client: Client, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let served = 0;
  const waiter = async () => {
    while (world.alive() && performance.now() < end) {
      const { status } = await client.call(callOf(world));
      if (status === 200 && performance.now() < end) served += 1;
    }
  };
  await Promise.all(Array.from({ length: 24 }, waiter));
  return served / seconds;
}

/** Calls a second that are served while so many a second are sent, whatever becomes of them. */
async function served(
  world: World,
  {
    client,
    rate,
    seconds,
    count,
  }: { client: Client; rate: number; seconds: number; count: (status: number) => void },
): Promise<number> {
  const began = performance.now();
  const end = began + seconds * 1000;
  const calls: Promise<void>[] = [];
  let done = 0;
  for (let sent = 0; world.alive() && performance.now() < end; ) {
    for (; sent < ((performance.now() - began) / 1000) * rate; sent += 1) {
      calls.push(
        client.call(callOf(world)).then(({ status }) => {
          count(status);
          if (status === 200 && performance.now() < end) done += 1;
        }),
      );
    }
    await sleep(5);
  }
  await Promise.all(calls);
  return done / seconds;
}

/** Overload costs no work: what is refused is refused before its download. */
export function goodput(bound = least): Scenario {
  return {
    name: 'must hold: goodput at 4 × capacity',
    async attack(world, { scale, tally }) {
      const client = createClient(world.url, 1_000);
      const count = tally.count;
      await capacity(world, client, 1);
      // In turns, for the machine may have other work at times.
      const able = await capacity(world, client, scale.seconds);
      const did = await served(world, { client, rate: 4 * able, seconds: scale.seconds, count });
      const ableAgain = await capacity(world, client, scale.seconds);
      const share = did / ((able + ableAgain) / 2);
      if (!(share >= bound)) {
        tally.fault(
          `${did.toFixed(0)} calls a second under overload, × ${share.toFixed(2)} of ${able.toFixed(0)}`,
        );
      }
      client.close();
    },
  };
}
