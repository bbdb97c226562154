import { expect } from 'chai';
import type { ToPrimary } from '../../../gateway/processes/messages.js';
import { createPrimaryCounts } from '../../../gateway/processes/primary-counts.js';
import { until } from '../../until.js';
import { createQuietLog } from '../usage/quiet.js';

describe('what a process asks the one that counts', () => {
  type Asked = Extract<ToPrimary, { kind: 'ask' }>;

  function open() {
    const sent: Asked[] = [];
    const counts = createPrimaryCounts((message) => void sent.push(message as Asked));
    return { sent, counts, shared: counts.shared(0.5, createQuietLog()) };
  }

  it('goes in one message for a turn of the event loop, and each gets its answer', async () => {
    const { sent, counts, shared } = open();
    const granted = [1, 2].map((limit) => shared.run(() => shared.quota.reserve('a:2026-11', limit, 0)));
    await until(() => sent.length === 1);
    expect(sent[0]?.asks).to.have.length(2);
    counts.take(sent[0]?.id ?? 0, [
      { granted: true, used: 1 },
      { granted: false, used: 1 },
    ]);
    expect(await Promise.all(granted)).to.deep.equal([
      { granted: true, used: 1 },
      { granted: false, used: 1 },
    ]);
  });

  it('is given up where no answer comes, and not asked again for a moment', async () => {
    const { sent, shared } = open();
    const take = () => shared.run(() => shared.rate.take('acme', 1, 0));
    expect([await take(), await take(), sent.length]).to.deep.equal([undefined, undefined, 1]);
    await until(async () => {
      void take();
      await new Promise(setImmediate);
      return sent.length === 2;
    });
  });

  it('is not given up for a busy moment of its own', async () => {
    const { sent, counts, shared } = open();
    const taken = shared.run(() => shared.quota.reserve('a:2026-11', 1, 0));
    await until(() => sent.length === 1);
    // The answer comes with what the event loop reads before it goes on, as that of a channel does.
    setImmediate(() => {
      const busyUntil = performance.now() + 2_100;
      while (performance.now() < busyUntil);
      setImmediate(() => counts.take(sent[0]?.id ?? 0, [{ granted: true, used: 1 }]));
    });
    expect(await taken).to.deep.equal({ granted: true, used: 1 });
  });
});
