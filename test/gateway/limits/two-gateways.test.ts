import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { skipWithout } from '../../needs.js';
import { tenantWith } from './gateways.js';
import { answers, forget, freshPrefix, REDIS_URL } from './redis-servers.js';

const hammer = fileURLToPath(new URL('./hammer.js', import.meta.url));

describe('two gateway processes on one Redis', function () {
  // On a machine that stalls past the 200 ms a command may take, a gateway rightly goes on alone for a moment.
  this.retries(2);
  const prefix = freshPrefix();

  before(async function () {
    if (!(await answers(REDIS_URL))) skipWithout(this, `a Redis server at ${REDIS_URL}`);
  });

  after(() => forget(REDIS_URL, prefix).catch(() => {}));

  /** The moments at which two processes, asking as fast as they can, were allowed a call. */
  async function run(rate: number, burst: number, quota: number | null, ms: number): Promise<number[]> {
    const { id } = tenantWith({});
    const options = [rate, burst, quota, ms].map((value) => JSON.stringify(value));
    const children = [1, 2].map(() => fork(hammer, [REDIS_URL, prefix, id, ...options]));
    await Promise.all(children.map((child) => once(child, 'message')));
    const results = children.map((child) => once(child, 'message'));
    for (const child of children) child.send('go');
    return (await Promise.all(results)).flatMap(([times]) => times as number[]).sort((a, b) => a - b);
  }

  it('never pass the rate together by more than one call a window', async () => {
    const rate = 40;
    const times = await run(rate, 0, null, 2200);
    const windows = Math.floor(((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000) + 1;
    expect(times.length).to.be.at.most((rate + 1) * windows);
    expect(times.length).to.be.at.least(rate * 2);
  });

  it('never pass rate and burst together', async () => {
    const times = await run(10, 15, null, 500);
    expect(times.length).to.be.within(25, 35);
  });

  it('never pass the quota together', async () => {
    expect(await run(0, 0, 123, 500)).to.have.length(123);
  });
});
