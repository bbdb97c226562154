import { createClient, inParallel } from '../client.js';
import { goodCalls } from '../good-calls.js';
import type { Scenario } from '../scenario.js';

/** 100 keys of two tenants at once, with right and wrong calls of all kinds. */
export const manyKeys: Scenario = {
  name: '100 keys at once',
  async attack(world, { scale, random, tally }) {
    const keys: string[] = [];
    for (let at = 0; at < 100; at += 1) keys.push(await world.issueKey(random.pick(['demo', 'quiet'])));
    const client = createClient(world.url, 100);
    await inParallel({ at: 100, times: scale.calls, goesOn: world.alive }, async (at) => {
      const { text, json, upload, url } = goodCalls(world, keys[at % keys.length] as string);
      const wrong = { path: '/text/remove-stopwords?ak=hg_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' };
      const bad = { ...json, body: '{"a":' };
      tally.count((await client.call(random.pick([text, text, json, json, upload, url, wrong, bad]))).status);
    });
    client.close();
    if (tally.statuses.get(0)) tally.fault(`${tally.statuses.get(0)} calls were not answered`);
  },
};
