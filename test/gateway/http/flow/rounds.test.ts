import { expect } from 'chai';
import { goRound } from '../../../../gateway/http/flow/rounds.js';

describe('rounds', () => {
  function make(count: number, isOver: (thing: { at: number }) => boolean) {
    const things = new Set(Array.from({ length: count }, (_, at) => ({ at })));
    const seen: number[] = [];
    const ended: number[] = [];
    const tick = goRound(things, {
      isOver(thing) {
        seen.push(thing.at);
        return isOver(thing);
      },
      end({ at }) {
        ended.push(at);
        for (const thing of things) if (thing.at === at) things.delete(thing);
      },
    });
    return { things, seen, ended, tick: () => tick(0) };
  }

  it('look at a few thousand in a tick, and at all in the end, again and again', () => {
    const { seen, tick } = make(10_000, () => false);
    let most = 0;
    for (let ticks = 0; ticks < 100; ticks += 1) {
      const before = seen.length;
      tick();
      most = Math.max(most, seen.length - before);
    }
    expect(most).to.be.within(1, 5000);
    expect(new Set(seen).size).to.equal(10_000);
    expect(seen.filter((at) => at === 9999).length).to.be.above(5);
  });

  it('end a few dozen in a tick, and all that are over in the end, none twice', () => {
    const { things, ended, tick } = make(1000, ({ at }) => at % 2 === 0);
    let most = 0;
    for (let ticks = 0; ticks < 100; ticks += 1) {
      const before = ended.length;
      tick();
      most = Math.max(most, ended.length - before);
    }
    expect(most).to.be.within(1, 50);
    expect(ended).to.deep.equal(Array.from({ length: 500 }, (_, at) => 2 * at));
    expect(things.size).to.equal(500);
  });

  it('see what comes and goes between ticks', () => {
    const { things, seen, tick } = make(3, () => false);
    tick();
    things.clear();
    tick();
    things.add({ at: 7 });
    tick();
    expect(seen).to.deep.equal([0, 1, 2, 7]);
  });
});
