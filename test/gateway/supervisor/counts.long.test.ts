import { expect } from 'chai';
import type { RateState } from '../../../gateway/limits/counters.js';
import { createCounts } from '../../../gateway/supervisor/counts.js';
import { createPrimaryCounts } from '../../../gateway/supervisor/member.js';
import type { Ask, ToPrimary } from '../../../gateway/supervisor/messages.js';
import { until } from '../../needs.js';
import { createQuietLog } from '../usage/quiet.js';

describe('the counts of several processes', () => {
  const reserve = (limit: number, floor = 0, month = '2026-11'): Ask => ({
    kind: 'reserve',
    name: `acme:${month}`,
    limit,
    floor,
  });
  const release = (floor = 0): Ask => ({ kind: 'release', name: 'acme:2026-11', floor });

  it('allow a rate and a burst to all of them together', async () => {
    const counts = createCounts();
    const ask: Ask = { kind: 'rate', tenant: 'acme', rate: 5, burst: 2 };
    const told = await Promise.all([counts.tell(Array(6).fill(ask)), counts.tell(Array(6).fill(ask))]);
    expect(told.flat().filter((each) => (each as RateState).allowed)).to.have.length(7);
  });

  it('grant a quota once, and what is given back again', async () => {
    const { tell } = createCounts();
    expect(await tell([reserve(2), reserve(2), reserve(2)])).to.deep.equal([
      { granted: true, used: 1 },
      { granted: true, used: 2 },
      { granted: false, used: 2 },
    ]);
    expect(await tell([release(), reserve(2)])).to.deep.equal([null, { granted: true, used: 2 }]);
  });

  it('count from what is charged in the database, and give no less back', async () => {
    const { tell } = createCounts();
    expect(await tell([reserve(10, 8), release(9), reserve(10)])).to.deep.equal([
      { granted: true, used: 9 },
      null,
      { granted: true, used: 10 },
    ]);
  });

  it('forget months long past', async () => {
    const { tell } = createCounts();
    await tell([reserve(9, 5), reserve(9, 0, '2026-12'), reserve(9, 0, '2027-01')]);
    expect(await tell([reserve(9, 0, '2026-12'), reserve(9)])).to.deep.equal([
      { granted: true, used: 2 },
      { granted: true, used: 1 },
    ]);
  });
});

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
