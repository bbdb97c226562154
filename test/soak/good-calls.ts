import { setTimeout as sleep } from 'node:timers/promises';
import type { Call, Client } from './client.js';
import { multipart } from './mutate.js';
import type { Tally } from './tally.js';
import type { World } from './world.js';

/** Calls that an honest tenant makes. */
export function goodCalls(world: World, key: string): { text: Call; json: Call; upload: Call; url: Call } {
  const form = multipart([
    { name: 'width', value: '3' },
    { name: 'format', value: 'jpg' },
    { name: 'file', filename: 'a.jpg', value: world.picture },
  ]);
  return {
    text: { path: `/text/remove-stopwords?text=the+cat&ak=${key}` },
    json: { path: `/text/diff-two-strings?ak=${key}`, body: '{"a":"one\\ntwo","b":"one\\n2"}' },
    upload: { path: `/media/add-border?ak=${key}`, ...form },
    url: {
      path: `/media/add-border?width=3&format=jpg&ak=${key}&url=${encodeURIComponent(`${world.source}/picture`)}`,
    },
  };
}

/** Makes these calls in turns, one at a time, until `goesOn` says no, and counts them as good. */
export async function keepCalling(
  {
    client,
    calls,
    pauseMs,
    tally,
  }: { client: Client; calls: readonly Call[]; pauseMs: number; tally: Tally },
  goesOn: () => boolean,
): Promise<void> {
  for (let at = 0; goesOn(); at += 1) {
    const { status, ms } = await client.call(calls[at % calls.length] as Call);
    tally.good(status, ms);
    await sleep(pauseMs);
  }
}
