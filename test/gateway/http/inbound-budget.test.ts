import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createInboundBudget, type InboundTransfer } from '../../../gateway/http/inbound-budget.js';
import { until } from '../../needs.js';

describe('the inbound budget', () => {
  let now = 0;
  let budget: ReturnType<typeof createInboundBudget>;
  const make = (options: { most?: number; bytes?: number; largest?: number } = {}) => {
    budget = createInboundBudget({ most: 8, bytes: 8000, largest: 100, ...options, now: () => now });
  };
  const body = (tenant = 'a') => budget.enter(tenant, 'request_timeout');
  const download = (tenant = 'a') => budget.enter(tenant, 'source_timeout');
  /** Why transfers were ended; undefined for those that were not. */
  const codesOf = (...transfers: InboundTransfer[]) => transfers.map(({ signal }) => signal.reason?.code);

  beforeEach(() => {
    now = 0;
    make();
  });
  afterEach(() => budget.close());

  it('counts transfers until they are released, and no longer as arriving once they are complete', () => {
    const one = body();
    one.add(50);
    expect(budget.stats()).to.deep.equal({ arriving: 1, bytes: 50 });
    one.complete();
    expect(budget.stats()).to.deep.equal({ arriving: 0, bytes: 50 });
    for (let times = 0; times < 2; times += 1) one.release();
    expect(budget.stats()).to.deep.equal({ arriving: 0, bytes: 0 });
  });

  it('reports of each how long it was on its way, once, however that ended', () => {
    const reported: string[] = [];
    budget.watch((timeout, ms) => reported.push(`${timeout} ${ms}`));
    const [one, other] = [body(), download()];
    now = 30;
    one.complete();
    now = 50;
    one.release();
    other.release();
    expect(reported).to.deep.equal(['request_timeout 30', 'source_timeout 50']);
  });

  it('counts what is held besides, which is never refused but leaves less room', () => {
    make({ bytes: 100, largest: 50 });
    const release = budget.hold('a', 80);
    expect(budget.stats()).to.deep.equal({ arriving: 0, bytes: 80 });
    const late = body();
    late.add(1);
    release();
    const next = body();
    next.add(50);
    expect(codesOf(late, next)).to.deep.equal(['tenant_busy', undefined]);
  });

  it('has at most half of all for one tenant, while they come well', () => {
    const refused = (tenant: string) => expect(() => body(tenant)).to.throw();
    for (let i = 0; i < 4; i += 1) body('a');
    refused('a').with.property('code', 'tenant_busy');
    for (let i = 0; i < 4; i += 1) body('b');
    refused('c').with.property('code', 'busy');
  });

  it('ends the transfer for a newcomer that has stalled for longest', () => {
    make({ bytes: 80_000 });
    const all = Array.from({ length: 4 }, () => body());
    now = 1000;
    for (const [at, one] of all.entries()) if (at !== 2) one.add(2000);
    body();
    // It was not below the rate.
    expect(codesOf(...all)).to.deep.equal([undefined, undefined, 'tenant_busy', undefined]);
  });

  it('ends a stalled one where bytes are used up, and only if none stalls the one that grows', () => {
    make({ bytes: 2000 });
    const stalled = body();
    stalled.add(800);
    now = 1000;
    const growing = body();
    growing.add(800);
    expect(codesOf(stalled)).to.deep.equal(['tenant_busy']);
    expect(budget.stats().bytes).to.equal(800);
    const other = body();
    other.add(800);
    expect(codesOf(growing, other)).to.deep.equal([undefined, 'tenant_busy']);
  });

  it('ends a much larger one of the tenant where bytes are used up, though none stalls', () => {
    make({ bytes: 2000 });
    const [large, small] = [body(), body()];
    large.add(950);
    small.add(60);
    expect(codesOf(large, small)).to.deep.equal(['tenant_busy', undefined]);
  });

  it('never ends one that is complete', () => {
    make({ bytes: 2000 });
    const whole = body();
    whole.add(900);
    whole.complete();
    now = 60_000;
    const next = body();
    next.add(900);
    expect(codesOf(whole, next)).to.deep.equal([undefined, 'tenant_busy']);
  });

  it('has bodies wait for room, in their order, and small ones not', async () => {
    make({ bytes: 1_000_000 });
    const first = await budget.enterBody('a', 400_000);
    const begun: string[] = [];
    const [second, third] = ['second', 'third'].map(async (name) => {
      const transfer = await budget.enterBody('a', 400_000);
      begun.push(name);
      return transfer;
    });
    expect(budget.enterBody('a', 1000)).to.have.property('signal');
    expect(budget.enterBody('b', 400_000), 'another tenant').to.have.property('signal');
    first.add(400_000);
    first.complete();
    await sleep(120);
    expect(begun, 'what has come whole is still held').to.deep.equal([]);
    first.release();
    (await second)?.add(400_000);
    (await second)?.release();
    await third;
    expect(begun).to.deep.equal(['second', 'third']);
  });

  it('has none wait for those that stall, and none for longer than 20 seconds', async () => {
    make({ bytes: 1_000_000 });
    const stalled = await budget.enterBody('a', 400_000);
    now = 1000;
    const steady = budget.enterBody('a', 400_000) as InboundTransfer;
    expect(steady).to.have.property('signal');
    const late = budget.enterBody('a', 400_000);
    for (; now < 20_000; now += 1000) for (const one of [stalled, steady]) one.add(5000);
    now = 21_001;
    await late;
    expect(codesOf(steady)).to.deep.equal([undefined]);
  });

  it('accepts one input of the largest size, however small it is', () => {
    make({ bytes: 10, largest: 100 });
    const one = body();
    one.add(100);
    expect(codesOf(one)).to.deep.equal([undefined]);
  });

  it('ends a body after a minute, however well it comes; a download has a deadline of its own', async () => {
    make({ bytes: 1e9, largest: 1e9 });
    const [one, other] = [body(), download()];
    for (now = 0; now < 60_000; now += 4000) for (const each of [one, other]) each.add(1e5);
    await until(() => one.signal.aborted);
    other.add(1);
    expect(codesOf(one, other)).to.deep.equal(['request_timeout', undefined]);
  });

  it('ends with 408 or 504 what comes too slowly; a download not before its server has answered', async () => {
    const [one, silent, dripping] = [body(), download(), download()];
    dripping.add(0);
    // What comes at once buys no more than the whole grace period.
    one.add(3000);
    now = 5001;
    await until(() => one.signal.aborted && dripping.signal.aborted);
    expect(codesOf(one, silent, dripping)).to.deep.equal(['request_timeout', undefined, 'source_timeout']);
  });
});
