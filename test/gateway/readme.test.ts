import { expect } from 'chai';
import { createCache } from '../../gateway/cache/cache.js';
import { createMetrics } from '../../gateway/metrics.js';
import type { Pool } from '../../pool/pool.js';
import { codesIn, readText, rowsOf } from '../readme.js';

describe('gateway/README', () => {
  it('names every metric, and no other', async () => {
    const pool = { stats: () => ({ running: 0, places: 0, threads: 0 }) } as Pool;
    const arrivals = { stats: () => ({ arriving: 0, bytes: 0 }) };
    const departures = { stats: () => ({ bytes: 0 }) };
    const cache = createCache(0);
    const metrics = createMetrics({ pool, arrivals, departures, cache, keysAvailable: () => true });
    const { body } = await metrics.text();
    const real = [...body.matchAll(/^# TYPE (helper_gateway_\w+) /gm)].map((match) => match[1]);
    const documented = rowsOf(readText('gateway/README.md')).flatMap(([first]) => codesIn(first));
    expect(documented.filter((name) => name.startsWith('helper_gateway_'))).to.have.members(real);
  });
});
