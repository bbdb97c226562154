import { createClient } from '../client.js';
import { goodCalls, keepCalling } from '../good-calls.js';
import { multipart } from '../multipart.js';
import type { Scenario } from '../scenario.js';
import { costlyBodies } from './costly-bodies.js';

/** The dearest to parse and to validate of what the limits on names, levels and bytes let through. */
function allowed(key: string) {
  const path = `/text/remove-stopwords?ak=${key}`;
  const names = (count: number) =>
    Array.from({ length: count }, (_, at) => `"${at.toString(36)}":1`).join(',');
  const list = (count: number, word: string) => Array.from({ length: count }, () => word).join(',');
  return [
    { path, body: `{"text":"${'\\u00e9'.repeat(160_000)}"}` },
    { path, body: `{${names(900)},"text":"${'a b '.repeat(200_000)}"}` },
    { path, body: `{"text":"","keep":[${list(200_000, '1')}]}` },
    {
      path,
      body: `{"text":"","keep":[${list(1_000, `"${'x'.repeat(64)}"`)}],"also":[${list(1_000, '"a b"')}]}`,
    },
    { path, type: 'application/x-www-form-urlencoded', body: `text=${'%C3%A9'.repeat(160_000)}` },
    {
      path,
      ...multipart(Array.from({ length: 90 }, (_, at) => ({ name: `p${at}`, value: 'x'.repeat(10_000) }))),
    },
  ];
}

/** Within its rate of 50 a second, a tenant may not take the main thread from another. */
export const quietTenant: Scenario = {
  name: 'must hold: a quiet tenant beside eight',
  env: { HELPER_RATE: '50' },
  bounds: { goodP99Ms: 100 },
  async attack(world, { scale, tally }) {
    const bodies = [
      ...allowed(world.key),
      ...costlyBodies(world.key)
        .slice(0, 9)
        .map(({ call }) => call),
    ];
    const noisy = createClient(world.url, 8);
    const client = createClient(world.url, 1);
    const end = performance.now() + scale.seconds * 1000;
    const goesOn = () => world.alive() && performance.now() < end;
    const attackers = Array.from({ length: 8 }, async (_, from) => {
      for (let at = from; goesOn(); at += 1) {
        tally.count((await noisy.call(bodies[at % bodies.length] ?? { path: '/' })).status);
      }
    });
    const { text } = goodCalls(world, world.quietKey);
    await keepCalling({ client, calls: [text], pauseMs: 50, tally }, goesOn);
    await Promise.all(attackers);
    noisy.close();
    client.close();
  },
};
