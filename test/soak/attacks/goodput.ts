import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../client.js';
import type { Scenario, Tally } from '../scenario.js';
import type { World } from '../world.js';

/** Share of what the gateway can do that it must still do when four times as much is asked of it. */
const least = 0.9;

let calls = 0;

/** The source answers after 100 ms, as one far away does; neither it nor the result is one that was had before. */
function callOf(world: World) {
  calls += 1;
  const url = encodeURIComponent(`${world.source}/picture?ms=100&number=${calls}`);
  return { path: `/media/add-watermark?text=${calls}&format=webp&ak=${world.key}&url=${url}` };
}

type Pace = { rate: number; seconds: number };

/** Has so many calls a second made, whatever becomes of them, and waits for the last. */
async function send(world: World, { rate, seconds }: Pace, call: () => Promise<void>): Promise<void> {
  const began = performance.now();
  const end = began + seconds * 1000;
  const calls: Promise<void>[] = [];
  while (world.alive() && performance.now() < end) {
    while (calls.length < ((performance.now() - began) / 1000) * rate) calls.push(call());
    await sleep(5);
  }
  await Promise.all(calls);
}

/**
 * Calls a second that are served while 24 wait at a time. Beside them `idle` calls a second go to a server that answers at once:
 * to send what the gateway refuses and to read why is work of its clients, which is to be in both figures.
 */
async function capacity(world: World, client: Client, seconds: number, idle = 0): Promise<number> {
  const end = performance.now() + seconds * 1000;
  const control = createClient(world.source, 1_000);
  let served = 0;
  const waiter = async () => {
    while (world.alive() && performance.now() < end) {
      const { status } = await client.call(callOf(world));
      if (status === 200 && performance.now() < end) served += 1;
    }
  };
  const ping = async () => void (await control.call({ path: '/ping' }));
  await Promise.all([...Array.from({ length: 24 }, waiter), send(world, { rate: idle, seconds }, ping)]);
  control.close();
  return served / seconds;
}

/** Calls a second that are served while so many a second are sent. */
async function served(world: World, client: Client, pace: Pace, count?: Tally['count']): Promise<number> {
  const end = performance.now() + pace.seconds * 1000;
  let done = 0;
  await send(world, pace, async () => {
    const { status } = await client.call(callOf(world));
    count?.(status);
    if (status === 200 && performance.now() < end) done += 1;
  });
  return done / pace.seconds;
}

/** Overload costs no work: what is refused is refused before its download. */
export function goodput(bound = least): Scenario {
  return {
    name: 'must hold: goodput at 4 × capacity',
    async attack(world, { scale, tally }) {
      const client = createClient(world.url, 1_000);
      const { seconds } = scale;
      const rough = await capacity(world, client, 2);
      // A refusal costs twice as much while its code is not compiled yet, which is no measure of a gateway that has run for a minute.
      await served(world, client, { rate: 4 * rough, seconds });
      // In turns, for the machine may have other work at times.
      const able = await capacity(world, client, seconds, 3 * rough);
      const did = await served(world, client, { rate: 4 * able, seconds }, tally.count);
      const ableAgain = await capacity(world, client, seconds, 3 * able);
      const share = did / ((able + ableAgain) / 2);
      if (!(share >= bound)) {
        const [served, first, last] = [did, able, ableAgain].map((rate) => rate.toFixed(0));
        tally.fault(`${served} calls a second under overload, × ${share.toFixed(2)} of ${first} and ${last}`);
      }
      client.close();
    },
  };
}
