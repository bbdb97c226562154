import { expect } from 'chai';
import { createFlights } from '../../../gateway/cache/flights.js';
import { rejection } from '../source/raw-server.js';

describe('createFlights', () => {
  const stay = new AbortController().signal;

  /** Work that ends when the test says so. */
  function held() {
    const seen: AbortSignal[] = [];
    let resolve = (_: string) => {};
    let reject = (_: unknown) => {};
    const outcome = new Promise<string>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    const work = (signal: AbortSignal) => {
      seen.push(signal);
      return outcome;
    };
    return { seen, work, resolve, reject };
  }

  it('does work once for all who ask meanwhile, and anew for who asks later', async () => {
    const flights = createFlights<string>();
    const { seen, work, resolve } = held();
    const all = Array.from({ length: 50 }, () => flights.join('a', new AbortController().signal, work));
    await Promise.resolve();
    resolve('done');
    const landed = await Promise.all(all);
    expect(seen).to.have.length(1);
    expect(landed.map(({ joined }) => joined)).to.deep.equal([false, ...Array(49).fill(true)]);
    expect(landed.every(({ value, shared }) => value === 'done' && shared)).to.equal(true);
    expect(await flights.join('a', stay, work)).to.deep.equal({
      value: 'done',
      joined: false,
      shared: false,
    });
    expect(seen).to.have.length(2);
  });

  it('does not mix keys', async () => {
    const flights = createFlights<string>();
    const [a, b] = await Promise.all([
      flights.join('a', stay, async () => 'of a'),
      flights.join('b', stay, async () => 'of b'),
    ]);
    expect([a, b]).to.deep.equal([
      { value: 'of a', joined: false, shared: false },
      { value: 'of b', joined: false, shared: false },
    ]);
  });

  it('tells each what went wrong', async () => {
    const flights = createFlights<string>();
    const fail = async () => {
      throw new Error('broken');
    };
    const all = [flights.join('a', stay, fail), flights.join('a', stay, fail)];
    for (const each of all) expect((await rejection(each)).message).to.equal('broken');
    expect((await flights.join('a', stay, async () => 'well')).value).to.equal('well');
  });

  it('lets who began it leave at once, while others wait on', async () => {
    const flights = createFlights<string>();
    const { seen, work, resolve } = held();
    const leader = new AbortController();
    const first = flights.join('a', leader.signal, work);
    const second = flights.join('a', stay, work);
    await Promise.resolve();
    leader.abort(new Error('gone'));
    expect((await rejection(first)).message).to.equal('gone');
    expect(seen[0]?.aborted).to.equal(false);
    resolve('done');
    expect(await second).to.deep.equal({ value: 'done', joined: true, shared: false });
  });

  it('ends with the last who waits, and begins anew for who comes then', async () => {
    const flights = createFlights<string>();
    const { seen, work } = held();
    const [one, two] = [new AbortController(), new AbortController()];
    const waiting = [flights.join('a', one.signal, work), flights.join('a', two.signal, work)];
    await Promise.resolve();
    one.abort(new Error('one'));
    expect(seen[0]?.aborted).to.equal(false);
    two.abort(new Error('two'));
    for (const each of waiting) await rejection(each);
    expect(seen[0]?.reason).to.have.property('message', 'two');
    expect((await flights.join('a', stay, async () => 'anew')).value).to.equal('anew');
  });

  it('begins nothing for who has gone', async () => {
    const flights = createFlights<string>();
    const { seen, work } = held();
    const error = await rejection(flights.join('a', AbortSignal.abort(new Error('gone')), work));
    expect(error.message).to.equal('gone');
    expect(seen).to.have.length(0);
  });
});
