import { expect } from 'chai';
import {
  createInboundBudget,
  type InboundBudget,
  type InboundTransfer,
} from '../../../gateway/http/inbound-budget.js';
import { until } from '../../needs.js';

describe('the inbound budget', () => {
  let now = 0;
  let inboundBudget: InboundBudget;

  function make(options: { most?: number; bytes?: number; largest?: number } = {}): InboundBudget {
    inboundBudget = createInboundBudget({ most: 8, bytes: 8000, largest: 100, ...options, now: () => now });
    return inboundBudget;
  }

  function codeOf(work: () => unknown): string | undefined {
    try {
      work();
      return undefined;
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  beforeEach(() => {
    now = 0;
  });
  afterEach(() => inboundBudget.close());

  it('count until they are released, and no longer as on their way once they are complete', () => {
    const one = make().enter('a', 'request_timeout');
    one.add(50);
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 1, bytes: 50 });
    one.complete();
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 50 });
    one.release();
    one.release();
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 0 });
  });

  it('tell of each how long it was on its way, once, however that ended', () => {
    const told: [string, number][] = [];
    make().watch((slow, ms) => told.push([slow, ms]));
    const [body, download] = [
      inboundBudget.enter('a', 'request_timeout'),
      inboundBudget.enter('a', 'source_timeout'),
    ];
    now = 30;
    body.complete();
    now = 50;
    body.release();
    download.release();
    expect(told).to.deep.equal([
      ['request_timeout', 30],
      ['source_timeout', 50],
    ]);
  });

  it('count what is held besides, which is never refused but leaves less room', () => {
    make({ bytes: 100, largest: 50 });
    const letGo = inboundBudget.hold('a', 80);
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 80 });
    const late = inboundBudget.enter('a', 'request_timeout');
    late.add(1);
    expect(late.signal.aborted).to.equal(true);
    letGo();
    const next = inboundBudget.enter('a', 'request_timeout');
    next.add(50);
    expect(next.signal.aborted).to.equal(false);
  });

  it('of one tenant are at most half of all, while they come well', () => {
    make();
    for (let i = 0; i < 4; i += 1) inboundBudget.enter('a', 'request_timeout');
    expect(codeOf(() => inboundBudget.enter('a', 'request_timeout'))).to.equal('tenant_busy');
    for (let i = 0; i < 4; i += 1) inboundBudget.enter('b', 'request_timeout');
    expect(codeOf(() => inboundBudget.enter('c', 'request_timeout'))).to.equal('busy');
  });

  it('give way to a newcomer where they stall, the one first that has stalled for longest', () => {
    make({ bytes: 80_000 });
    const all = Array.from({ length: 4 }, () => inboundBudget.enter('a', 'request_timeout'));
    now = 1000;
    for (const [at, one] of all.entries()) if (at !== 2) one.add(2000);
    inboundBudget.enter('a', 'request_timeout');
    expect(all.map(({ signal }) => signal.aborted)).to.deep.equal([false, false, true, false]);
    expect(all[2]?.signal.reason.code, 'it was not below the rate').to.equal('tenant_busy');
  });

  it('give way where bytes are used up, and only if none stalls is the one refused that grows', () => {
    make({ bytes: 2000 });
    const stalled = inboundBudget.enter('a', 'request_timeout');
    stalled.add(800);
    now = 1000;
    const growing = inboundBudget.enter('a', 'request_timeout');
    growing.add(800);
    expect(stalled.signal.aborted).to.equal(true);
    expect(inboundBudget.stats().bytes).to.equal(800);
    const other = inboundBudget.enter('a', 'request_timeout');
    other.add(800);
    expect(other.signal.reason.code).to.equal('tenant_busy');
    expect(growing.signal.aborted).to.equal(false);
  });

  it('end for a much smaller one of their tenant where bytes are used up, though none stalls', () => {
    make({ bytes: 2000 });
    const large = inboundBudget.enter('a', 'request_timeout');
    large.add(950);
    const small = inboundBudget.enter('a', 'request_timeout');
    small.add(60);
    expect([large.signal.reason?.code, small.signal.aborted]).to.deep.equal(['tenant_busy', false]);
  });

  it('are never ended once they are complete', () => {
    make({ bytes: 2000 });
    const whole = inboundBudget.enter('a', 'request_timeout');
    whole.add(900);
    whole.complete();
    now = 60_000;
    const next = inboundBudget.enter('a', 'request_timeout');
    next.add(900);
    expect([whole.signal.aborted, next.signal.aborted]).to.deep.equal([false, true]);
  });

  it('that announce more than there is room for wait for it, in their order, and small ones do not', async () => {
    make({ bytes: 1_000_000 });
    const first = await inboundBudget.enterBody('a', 400_000);
    const begun: string[] = [];
    const wait = async (name: string) => {
      const transfer = await inboundBudget.enterBody('a', 400_000);
      begun.push(name);
      return transfer;
    };
    const [second, third] = [wait('second'), wait('third')];
    expect(inboundBudget.enterBody('a', 1000)).to.have.property('signal');
    expect(inboundBudget.enterBody('b', 400_000), 'another tenant').to.have.property('signal');
    first.add(400_000);
    first.complete();
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(begun, 'what has come whole is still held').to.deep.equal([]);
    first.release();
    (await second).add(400_000);
    (await second).release();
    await third;
    expect(begun).to.deep.equal(['second', 'third']);
  });

  it('wait for none that stall, and for no longer than 20 seconds', async () => {
    make({ bytes: 1_000_000 });
    const stalled = await inboundBudget.enterBody('a', 400_000);
    now = 1000;
    const steady = inboundBudget.enterBody('a', 400_000) as InboundTransfer;
    expect(steady).to.have.property('signal');
    const late = inboundBudget.enterBody('a', 400_000);
    for (; now < 20_000; now += 1000) for (const one of [stalled, steady]) one.add(5000);
    now = 21_001;
    await late;
    expect(steady.signal.aborted).to.equal(false);
  });

  it('take one input of the largest size, however small the budget', () => {
    const one = make({ bytes: 10, largest: 100 }).enter('a', 'request_timeout');
    one.add(100);
    expect(one.signal.aborted).to.equal(false);
  });

  it('are ended after a minute, however well they come; a download has a deadline of its own', async () => {
    make({ bytes: 1e9, largest: 1e9 });
    const body = inboundBudget.enter('a', 'request_timeout');
    const download = inboundBudget.enter('a', 'source_timeout');
    for (now = 0; now < 60_000; now += 4000) for (const one of [body, download]) one.add(1e5);
    await until(() => body.signal.aborted);
    expect(body.signal.reason?.code).to.equal('request_timeout');
    download.add(1);
    expect(download.signal.aborted).to.equal(false);
  });

  it('end with 408 or 504 where they come too slowly; a download not before its server has answered', async () => {
    make();
    const body = inboundBudget.enter('a', 'request_timeout');
    const silent = inboundBudget.enter('a', 'source_timeout');
    const dripping = inboundBudget.enter('a', 'source_timeout');
    dripping.add(0);
    now = 5001;
    await until(() => body.signal.aborted && dripping.signal.aborted);
    expect(body.signal.reason?.code).to.equal('request_timeout');
    expect(dripping.signal.reason?.code).to.equal('source_timeout');
    expect(silent.signal.aborted).to.equal(false);
  });
});
