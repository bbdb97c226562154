import { expect } from 'chai';
import fc from 'fast-check';
import { Costs } from '../../pool/costs.js';
import type { CallTask, Task } from '../../pool/task.js';
import { callTask } from './worker-settings.js';

const png: CallTask = { ...callTask('border'), variant: 'png' };
const avif: CallTask = { ...png, variant: 'avif' };

describe('what tasks are likely to cost', () => {
  const preview: Task = { kind: 'preview', bytes: new Uint8Array(1), maxBytes: 9 };
  const tasks: Record<string, Task> = {
    png,
    avif,
    webp: { ...png, variant: 'webp' },
    dryrun: { ...png, does: 'dryrun' },
    preview,
  };

  // Learned: the task, its milliseconds, how often, and whether it failed. Then a task's estimate and slots.
  for (const [what, learned, task, estimate, slots] of [
    ['as any, where none of the kind has ended', 'png 60 30', 'avif', 60, 1],
    ['what one of the kind took', 'png 60 30, avif 900', 'avif', 900, 9],
    ['what they take by now', 'avif 900, avif 300 30', 'avif', 300, 1],
    ['no less for calls that fail early', 'avif 900, avif 1 30 failed', 'avif', 900, 1],
    ['more for calls that fail late', 'avif 900, avif 10000 1 failed', 'avif', 2720, 1],
    ['as often the lightest kind as goes into it', 'png 200 30, avif 1400 30', 'avif', 1400, 7],
    ['one slot for the lightest kind', 'png 200 30, avif 1400 30', 'png', 200, 1],
    ['one slot for all that is short', 'png 2, webp 90', 'webp', 90, 1],
    ['sixteen slots at most', 'png 2, avif 1000000', 'avif', 1e6, 16],
    ['another for dry runs', 'png 1000 30, preview 10 60', 'dryrun', 10, 1],
    ['another for what is no call', 'png 1000 30, preview 10 60', 'preview', 10, 1],
  ] as const) {
    it(`is ${what}`, () => {
      const costs = new Costs();
      for (const each of learned.split(', ')) {
        const [name = '', ms, times = 1, failed] = each.split(' ');
        for (let at = 0; at < Number(times); at += 1) costs.learn(tasks[name] as Task, Number(ms), !failed);
      }
      expect(costs.estimate(tasks[task] as Task) / estimate).to.be.within(0.9, 1.3);
      expect(costs.slots(tasks[task] as Task)).to.equal(slots);
    });
  }
});

describe('what calls of several helpers are likely to cost', () => {
  const steps = (...services: string[]): Task => ({
    ...png,
    context: { service: 'pipeline', request_id: 'r' },
    steps: services.map((service) => ({ plugin: service, service, input: {}, names: {} })),
  });

  it('is learned for the same helpers in any order, and forgotten where callers choose ever others', () => {
    const costs = new Costs();
    costs.learn(steps('a', 'b', 'a'), 900, true);
    costs.learn(steps('b'), 10, true);
    expect(costs.estimate(steps('b', 'a'))).to.equal(900);
    expect(costs.estimate(steps('b'))).to.equal(10);
    for (let at = 0; at < 1_000; at += 1) costs.learn(steps('a', `c${at}`), 10, true);
    expect(costs.estimate(steps('b', 'a'))).to.be.below(20);
  });
});

describe('the price of a call', () => {
  const border = { service: 'border', variant: 'png' };
  const pixels = 1_000_000;

  /** Costs that have learnt these calls: their size in pixels, and milliseconds. */
  function learnt(calls: readonly (readonly [size: number, ms: number])[]): Costs {
    const costs = new Costs();
    for (const [size, ms] of calls) costs.note({ ...border, size }, ms);
    return costs;
  }

  it('is unknown where no call of the kind has ended, and learnt of those in the pool', () => {
    const costs = new Costs();
    expect(costs.price(border)).to.equal(undefined);
    costs.learn({ ...callTask('border'), variant: 'png', size: pixels }, 90, true, 60);
    costs.learn({ ...callTask('border'), variant: 'avif', size: pixels }, 1, false);
    expect(costs.price({ ...border, size: pixels })?.p50).to.be.within(54, 66);
    expect(costs.price({ ...border, variant: 'avif', size: pixels })).to.equal(undefined);
    costs.learn({ kind: 'preview', bytes: new Uint8Array(1), maxBytes: 9 }, 60, true);
    expect(costs.price({ service: 'preview' })).to.equal(undefined);
  });

  it('has half of the calls below p50, and 95 of 100 below p95', () => {
    const calls = Array.from({ length: 200 }, (_, at) => [pixels, 10 + at / 10] as const);
    const { p50 = 0, p95 = 0 } = learnt(calls).price({ ...border, size: pixels }) ?? {};
    expect(p50).to.be.within(18, 22);
    expect(p95).to.be.within(29, 32.5);
  });

  it('is in proportion for a larger size that none had, and covers a smaller one and few calls amply', () => {
    const costs = learnt([[pixels, 40]]);
    const priceAt = (size: number) => costs.price({ ...border, size });
    expect(priceAt(pixels)?.p95).to.be.within(80, 90);
    expect(priceAt(4 * pixels)?.p50).to.be.within(150, 175);
    expect(priceAt(pixels / 4)?.p50).to.be.within(18, 22);
    expect(costs.price(border)?.p50).to.be.within(36, 44);
  });

  it('follows what calls cost by now', () => {
    const costs = learnt(Array.from({ length: 3_000 }, (_, at) => [pixels, at < 1_000 ? 400 : 40] as const));
    expect(costs.price({ ...border, size: pixels })?.p95)
      .to.be.below(500)
      .and.above(40);
    for (let at = 0; at < 6_000; at += 1) costs.note({ ...border, size: pixels }, 40);
    expect(costs.price({ ...border, size: pixels })?.p95).to.be.within(40, 45);
  });

  it('has p95 no less than p50, and is no less for a larger picture, whatever was learnt', () => {
    const size = fc.integer({ min: 1, max: 2 ** 27 });
    const call = fc.tuple(size, fc.double({ min: 0, max: 1e6, noNaN: true }));
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 60 }), size, size, (calls, one, other) => {
        const costs = learnt(calls);
        const [small, large] = [Math.min(one, other), Math.max(one, other)].map((each) =>
          costs.price({ ...border, size: each }),
        );
        if (!small || !large) return expect.fail('nothing is known');
        expect(small.p50).to.be.at.most(small.p95);
        expect(small.p50).to.be.at.most(large.p50);
        expect(small.p95).to.be.at.most(large.p95);
        expect(costs.price(border)?.p50).to.be.at.most(costs.price(border)?.p95 ?? 0);
      }),
    );
  });

  it('is forgotten where callers choose ever other sizes and helpers, and not of what is used', () => {
    const costs = learnt([[pixels, 40]]);
    costs.note({ service: 'unused' }, 1);
    for (let at = 0; at < 900; at += 1) {
      for (let octave = 0; octave < 8; octave += 1) costs.note({ service: `h${at}`, size: 2 ** octave }, 1);
      costs.note({ ...border, size: pixels }, 40);
    }
    expect(costs.price({ service: 'unused' })).to.equal(undefined);
    expect(costs.price({ service: 'h0', size: 1 })).to.equal(undefined);
    expect(costs.price({ ...border, size: pixels })?.p50).to.be.within(36, 44);
  });
});
