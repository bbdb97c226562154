import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../client.js';
import { inTurn, type Scenario } from '../scenario.js';
import { percentile } from '../tally.js';
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

/** What one tenant's jobs may not do to the others. */
export const jobs: Scenario = inTurn('jobs', [manyItems]);
