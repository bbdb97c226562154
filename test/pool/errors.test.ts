import { expect } from 'chai';
import { once } from '../../pool/concurrency.js';
import { describeThrown, readThrown } from '../../pool/errors.js';

describe('readThrown', () => {
  it('reads an error with all that caused it, as data that can be sent to another thread', () => {
    const odd = Object.assign(new Error('odd', { cause: () => 1 }), { details: [() => 1], fn: () => 1 });
    expect(structuredClone(readThrown(odd))).to.include({ message: 'odd' });
    const inner = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const several = new AggregateError([inner, 'a word'], 'all failed');
    const read = readThrown(new TypeError('outer', { cause: several }));
    expect(read).to.include({ name: 'TypeError', message: 'outer' });
    expect(read.stack).to.include('errors.test');
    const [cause] = read.causes ?? [];
    expect(cause).to.include({ name: 'AggregateError', message: 'all failed' });
    expect(cause?.causes?.[0]).to.include({ message: 'refused', code: 'ECONNREFUSED' });
    expect(cause?.causes?.[1]).to.deep.equal({ message: 'a word' });
  });

  it('ends where an error causes itself, or is without end', () => {
    const ring = new Error('ring');
    ring.cause = new Error('other', { cause: ring });
    expect(JSON.stringify(readThrown(ring)).length).to.be.below(5_000);
    let deep = new Error('deepest');
    for (let depth = 0; depth < 1_000; depth += 1) deep = new Error('x'.repeat(100_000), { cause: deep });
    const wide = new AggregateError(Array(1_000).fill(deep), 'wide');
    expect(JSON.stringify(readThrown(wide)).length).to.be.below(500_000);
  });

  it('reads the first of many details, and what was thrown that is no error', () => {
    const details = Array.from({ length: 1_000 }, (_, at) => ({ field: String(at), problem: 'x' }));
    expect(readThrown({ code: 'invalid_input', details }).details).to.deep.equal(details.slice(0, 100));
    expect(readThrown({ reason: 'none' }).message).to.include("reason: 'none'");
    expect(readThrown(undefined)).to.deep.equal({ message: 'undefined' });
  });

  it('keeps what can be read of an error whose cause cannot', () => {
    const trap = new Error('outer');
    Object.defineProperty(trap, 'cause', {
      get() {
        throw new Error('trap');
      },
    });
    expect(readThrown(trap).message).to.equal('outer');
  });

  it('is described with the causes below the error', () => {
    const cause = new AggregateError([new Error('first')], 'tries');
    const text = describeThrown(readThrown(new Error('outer', { cause })));
    expect(text).to.match(/^Error: outer\n.*caused by AggregateError: tries\n.*caused by Error: first\n/s);
  });
});

describe('once', () => {
  it('makes a thing for all who need it, and anew only where that has failed', async () => {
    let tries = 0;
    const get = once(async () => {
      tries += 1;
      if (tries === 1) throw new Error('too many open files');
      return { tries };
    });
    const [first, beside] = await Promise.allSettled([get(), get()]);
    expect([first?.status, beside?.status, tries]).to.deep.equal(['rejected', 'rejected', 1]);
    const [made, again] = await Promise.all([get(), get()]);
    expect(made).to.deep.equal({ tries: 2 });
    expect(again).to.equal(made);
    expect(await get()).to.equal(made);
  });
});
