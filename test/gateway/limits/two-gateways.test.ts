import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { EffectiveLimits } from '../../../gateway/limits/tenant-limits.js';
import { skipWithout } from '../../needs.js';
import { tenantWith } from './gateways.js';
import type { Hammering } from './hammer.js';
import { answers, forget, freshPrefix, REDIS_URL } from './redis-servers.js';

const hammer = fileURLToPath(new URL('./hammer.js', import.meta.url));

describe('two gateway processes on one Redis', () => {
  const prefix = freshPrefix();

  let children: ChildProcess[] = [];
  before(async function () {
    if (!(await answers(REDIS_URL))) skipWithout(this, `a Redis server at ${REDIS_URL}`);
    children = [1, 2].map(() => fork(hammer, [REDIS_URL, prefix]));
    await Promise.all(children.map((child) => once(child, 'message')));
  });

  after(async () => {
    const ended = children.map((child) => once(child, 'exit'));
    for (const child of children) child.disconnect();
    await Promise.all(ended);
    await forget(REDIS_URL, prefix).catch(() => {});
  });

  /** How many calls two processes, asking over and over, were allowed, and in how many windows of a length that can be. */
  async function run(limits: Partial<EffectiveLimits>, ms: number) {
    const hammering: Hammering = { tenant: tenantWith(limits), ms };
    const results = children.map((child) => once(child, 'message'));
    const began = performance.now();
    for (const child of children) child.send(hammering);
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
    expect((await run({ monthlyQuota: 123 }, 500)).allowed).to.equal(123);
  });
});
