import { expect } from 'chai';
import type { RateState } from '../../../gateway/limits/counters.js';
import type { CountRequest, FromProcess } from '../../../gateway/supervisor/messages.js';
import { createCounts, createCountsClient } from '../../../gateway/supervisor/shared-counts.js';
import { until } from '../../needs.js';
import { createQuietLog } from '../usage/quiet.js';

describe('the counts of several processes', () => {
  const reserve = (limit: number, floor = 0, month = '2026-11'): CountRequest => ({
    kind: 'reserve',
    name: `acme:${month}`,
    limit,
    floor,
    amount: 1,
  });
  const release = (floor = 0): CountRequest => ({ kind: 'release', name: 'acme:2026-11', floor });

  it('allow a rate and a burst to all of them together', async () => {
    const counts = createCounts();
    const request: CountRequest = { kind: 'rate', tenant: 'acme', rate: 5, burst: 2 };
    const answers = await Promise.all([
      counts.answer(Array(6).fill(request)),
      counts.answer(Array(6).fill(request)),
    ]);
    expect(answers.flat().filter((each) => (each as RateState).allowed)).to.have.length(7);
  });

  it('grant a quota once, and what was released', async () => {
    const { answer } = createCounts();
    expect(await answer([reserve(2), reserve(2), reserve(2)])).to.deep.equal([
      { granted: true, used: 1 },
      { granted: true, used: 2 },
      { granted: false, used: 2 },
    ]);
    expect(await answer([release(), reserve(2)])).to.deep.equal([null, { granted: true, used: 2 }]);
  });

  it('count from what is charged in the database, and release no less', async () => {
    const { answer } = createCounts();
    expect(await answer([reserve(10, 8), release(9), reserve(10)])).to.deep.equal([
      { granted: true, used: 9 },
      null,
      { granted: true, used: 10 },
    ]);
  });

  it('forget months long past', async () => {
    const { answer } = createCounts();
    await answer([reserve(9, 5), reserve(9, 0, '2026-12'), reserve(9, 0, '2027-01')]);
    expect(await answer([reserve(9, 0, '2026-12'), reserve(9)])).to.deep.equal([
      { granted: true, used: 2 },
      { granted: true, used: 1 },
    ]);
  });
});

describe('a count that a process asks for', () => {
  type Sent = Extract<FromProcess, { kind: 'count' }>;

  function open() {
    const sent: Sent[] = [];
    const counts = createCountsClient((message) => sent.push(message as Sent), 0.5, createQuietLog());
    return { sent, counts, shared: counts.shared };
  }

  it('goes in one message for an iteration of the event loop, and each gets its answer', async () => {
    const { sent, counts, shared } = open();
    const granted = [1, 2].map((limit) => shared.run(() => shared.quota.reserve('a:2026-11', limit, 0, 1)));
    await until(() => sent.length === 1);
    expect(sent[0]?.requests).to.have.length(2);
    counts.receive(sent[0]?.id ?? 0, [
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
    const consume = () => shared.run(() => shared.rate.consume('acme', 1, 0));
    expect([await consume(), await consume(), sent.length]).to.deep.equal([undefined, undefined, 1]);
    await until(async () => {
      void consume();
      await new Promise(setImmediate);
      return sent.length === 2;
    });
  });

  it('is not given up for a busy moment of its own', async () => {
    const { sent, counts, shared } = open();
    const reserved = shared.run(() => shared.quota.reserve('a:2026-11', 1, 0, 1));
    await until(() => sent.length === 1);
    // The answer comes with what the event loop reads before it goes on, as that of a channel does.
    setImmediate(() => {
      const busyUntil = performance.now() + 2_100;
      while (performance.now() < busyUntil);
      setImmediate(() => counts.receive(sent[0]?.id ?? 0, [{ granted: true, used: 1 }]));
    });
    expect(await reserved).to.deep.equal({ granted: true, used: 1 });
  });
});
