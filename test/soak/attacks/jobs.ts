import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../client.js';
import { multipart } from '../mutate.js';
import { inTurn, percentile, type Scenario } from '../scenario.js';
import type { World } from '../world.js';

const service = 'text/remove-stopwords';

/** A part of a request of the jobs' API that is awaited, as its data. */
async function ask(url: string, body?: string): Promise<Record<string, unknown>> {
  const request = body === undefined ? {} : { method: 'POST', body };
  const answer = await fetch(url, { ...request, headers: { 'content-type': 'application/json' } });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { data: Record<string, unknown> }).data;
}

function bodyOf(items: number): string {
  const inputs = Array.from({ length: items }, (_, at) => ({ text: `the job and its item ${at}` }));
  return JSON.stringify({ service, inputs });
}

/** Milliseconds from a request for a job of one item to its end. */
async function oneItem(world: World, key: string): Promise<number> {
  const began = performance.now();
  const { id } = await ask(`${world.url}/jobs?ak=${key}`, bodyOf(1));
  for (;;) {
    const { finished_at } = await ask(`${world.url}/jobs/${id}?ak=${key}`);
    if (finished_at !== null) return performance.now() - began;
    if (performance.now() - began > 60_000) throw new Error('a job of one item took more than a minute');
    await sleep(5);
  }
}

async function median(times: number, work: () => Promise<number>): Promise<number> {
  const taken: number[] = [];
  for (let time = 0; time < times; time += 1) taken.push(await work());
  return percentile(taken, 0.5);
}

/** Times that its own time alone may be multiplied by, of a job of one item behind another tenant's 120,000. */
const mostTimes = 3;

/** One tenant's many items do not go before another's one. */
const manyItems: Scenario = {
  name: 'jobs: one item beside 120,000',
  async attack(world, { scale, tally }) {
    const turn = () => oneItem(world, world.quietKey);
    await median(3, turn);
    const alone = await median(11, turn);
    const client = createClient(world.url, 1);
    const path = `/jobs?ak=${world.key}`;
    for (let job = 0; job < scale.calls; job += 1) {
      tally.count((await client.call({ path, body: bodyOf(10_000) })).status);
    }
    client.close();
    const beside = await median(11, turn);
    if (!(beside <= mostTimes * alone)) {
      tally.fault(`a job of one item took ${beside.toFixed(0)} ms, and alone ${alone.toFixed(0)}`);
    }
  },
};

/** Of the calls that eight clients make alone, the part that they make at least beside a job of another tenant. */
const leastOfCalls = 0.75;
const callSeconds = 5;
const shortItems = 20;
const mostSecondsAnItem = 1;

/** Eight clients that keep every thread busy do not hold up another tenant's job, nor does that slow them down by more than its share. */
const busyClients: Scenario = {
  name: 'jobs: 20 items beside eight clients',
  async attack(world, { tally }) {
    const client = createClient(world.url, 8);
    const form = multipart([
      { name: 'width', value: '300' },
      { name: 'format', value: 'webp' },
      { name: 'file', filename: 'a.jpg', value: world.picture },
    ]);
    let made = 0;
    let calls = 0;
    let isOver = false;
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver && world.alive()) {
        // None like another, for its result would be there already.
        made += 1;
        const color = (made % 0xffffff).toString(16).padStart(6, '0');
        const path = `/media/add-border?ak=${world.key}&color=${color}`;
        const { status } = await client.call({ ...form, path });
        tally.count(status);
        if (status === 200) calls += 1;
      }
    });
    /** Calls a second for as long as this takes. */
    async function rateDuring(work: () => Promise<unknown>): Promise<number> {
      const [before, began] = [calls, performance.now()];
      await work();
      return (calls - before) / ((performance.now() - began) / 1_000);
    }
    try {
      await sleep(1_000);
      const alone = await rateDuring(() => sleep(callSeconds * 1_000));
      const inputs = Array.from({ length: shortItems }, (_, at) => ({
        url: `${world.source}/picture?${at}`,
        format: 'jpg',
      }));
      const began = performance.now();
      const path = `/jobs?ak=${world.quietKey}`;
      const { id } = await ask(
        `${world.url}${path}`,
        JSON.stringify({ service: 'media/add-border', inputs }),
      );
      const job = () => ask(`${world.url}/jobs/${id}?limit=1&ak=${world.quietKey}`);
      const beside = await rateDuring(async () => {
        while ((await job()).finished_at === null) {
          if (performance.now() - began > 2 * shortItems * mostSecondsAnItem * 1_000) break;
          await sleep(100);
        }
      });
      const { done, failed } = await job();
      const seconds = (performance.now() - began) / 1_000;
      if (done !== shortItems || seconds > shortItems * mostSecondsAnItem) {
        tally.fault(`${done} items of ${shortItems} were done in ${seconds.toFixed(1)} s, ${failed} failed`);
      }
      if (!(beside >= leastOfCalls * alone)) {
        tally.fault(`calls were ${beside.toFixed(0)} a second beside a job, and ${alone.toFixed(0)} without`);
      }
    } finally {
      isOver = true;
      await Promise.all(clients);
      client.close();
    }
  },
};

/** What one tenant's jobs may not do to the others, nor its calls to their jobs. */
export const jobs: Scenario = inTurn('jobs', [busyClients, manyItems]);
