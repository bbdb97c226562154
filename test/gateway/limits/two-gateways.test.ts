import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { skipWithout } from '../../needs.js';
import { tenantWith } from './gateways.js';
import { answers, forget, freshPrefix, REDIS_URL } from './redis-servers.js';

const hammer = fileURLToPath(new URL('./hammer.js', import.meta.url));

describe('two gateway processes on one Redis', () => {
  const prefix = freshPrefix();

  before(async function () {
    if (!(await answers(REDIS_URL))) skipWithout(this, `a Redis server at ${REDIS_URL}`);
  });

  after(() => forget(REDIS_URL, prefix).catch(() => {}));

  /** How many calls two processes, asking as fast as they can, were allowed, and in how many windows of a length that can be. */
  async function run(limits: { rate?: number; burst?: number; quota?: number }, ms: number) {
    const { rate = 0, burst = 0, quota = null } = limits;
    const options = [rate, burst, quota, ms].map((value) => JSON.stringify(value));
    const { id } = tenantWith({});
    const children = [1, 2].map(() => fork(hammer, [REDIS_URL, prefix, id, ...options]));
    await Promise.all(children.map((child) => once(child, 'message')));
    const results = children.map((child) => once(child, 'message'));
    const began = performance.now();
    for (const child of children) child.send('go');
    const counts = (await Promise.all(results)).map(([count]) => Number(count));
    const passed = performance.now() - began;
    return {
      allowed: counts.reduce((sum, count) => sum + count, 0),
      windows: (seconds: number) => Math.floor(passed / (1000 * seconds)) + 1,
    };
  }

  it('never pass the rate together by more than one call a window', async () => {
    const { allowed, windows } = await run({ rate: 40 }, 2200);
    expect(allowed).to.be.within(40, 41 * windows(1));
  });

  it('never pass rate and burst together', async () => {
    const { allowed, windows } = await run({ rate: 10, burst: 15 }, 500);
    expect(allowed).to.be.within(25, 10 * windows(1) + 15 * windows(10));
  });

  it('never pass the quota together', async () => {
    expect((await run({ quota: 123 }, 500)).allowed).to.equal(123);
  });
});
