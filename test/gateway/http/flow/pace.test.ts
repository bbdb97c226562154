import { expect } from 'chai';
import fc from 'fast-check';
import { Pace, PeerClock } from '../../../../gateway/http/flow/pace.js';

const options = { bytesPerSecond: 1000, patienceMs: 5000 };

describe('Pace', () => {
  it('runs out after its patience where nothing comes', () => {
    const pace = new Pace(options, 0);
    expect(pace.left(4999)).to.be.above(0);
    expect(pace.left(5000)).to.equal(0);
  });

  it('is kept up by bytes at the wanted rate, and not by a byte now and then', () => {
    const good = new Pace(options, 0);
    const drip = new Pace(options, 0);
    for (let now = 0; now <= 10_000; now += 100) {
      good.add(100, now);
      drip.add(1, now);
    }
    expect(good.left(10_000)).to.be.above(4000);
    expect(drip.left(10_000)).to.be.below(0);
  });

  it('is never more than its whole patience, however much came', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1e6), fc.nat(5000))), (steps) => {
        const pace = new Pace(options, 0);
        let now = 0;
        for (const [bytes, ms] of steps) {
          now += ms;
          pace.add(bytes, now);
          expect(pace.left(now)).to.be.at.most(5000);
        }
      }),
    );
  });
});

describe('the clock of a peer', () => {
  it('counts of a turn of the event loop no more than 100 ms', () => {
    let time = 0;
    const clock = new PeerClock(() => time);
    time = 60;
    expect(clock.now()).to.equal(60);
    clock.turn();
    // This thread is busy for so long.
    time = 6000;
    expect(clock.now()).to.equal(160);
    clock.turn();
    time = 6050;
    expect(clock.now()).to.equal(210);
  });
});
