import { expect } from 'chai';
import fc from 'fast-check';
import { splitLines } from '../../../../plugins/text/diff-two-strings/lines.js';
import { createMiddleFinder, type FindMiddle } from '../../../../plugins/text/diff-two-strings/middle.js';
import { numberLines } from '../../../../plugins/text/diff-two-strings/numbers.js';
import { isShort } from '../../../../plugins/text/diff-two-strings/short.js';
import { markShortest } from '../../../../plugins/text/diff-two-strings/shortest.js';

/**
 * Work that the search for a diff on the main thread may take, counted within a factor of two. A unit was measured at 1 to 2.5 ns,
 * so that this is at most 0.4 ms; numbering 8,000 lines and writing them out takes as much again.
 */
const mostWork = 160_000;

/** What the search takes on two texts: for each call the least allowance, doubled until it suffices. */
function workOf(a: string, b: string): number {
  const { left, right } = numberLines(splitLines(a), splitLines(b));
  const find = createMiddleFinder(left.length + right.length);
  let work = 0;
  const counting: FindMiddle = (one, other, range) => {
    for (let allowance = 64; ; allowance *= 2) {
      const middle = find(one, other, range, allowance);
      if (!middle) continue;
      work += allowance;
      return middle;
    }
  };
  const sides = [left, right].map((lines) => ({ lines, changed: new Uint8Array(lines.length) }));
  const range = { aStart: 0, aEnd: left.length, bStart: 0, bEnd: right.length };
  markShortest(sides[0] as (typeof sides)[0], sides[1] as (typeof sides)[0], range, counting, 64);
  return work;
}

const lines = (vocabulary: string[], count: number) =>
  fc
    .array(fc.constantFrom(...vocabulary), { minLength: count, maxLength: count })
    .map((content) => content.map((line) => `${line}\n`).join(''));
/** As many lines as the rule lets through, in every proportion, of few different ones or of many. */
const shape = fc
  .tuple(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 100 }))
  .chain(([count, vocabulary]) => {
    const names = Array.from({ length: vocabulary }, (_, at) => String.fromCodePoint(0x4e00 + at));
    const others = Math.max(0, Math.min(4000 - count, Math.floor(10_000 / (count + 1)) - 1));
    const one = lines(names, count);
    const other = lines(names, others);
    return fc.boolean().chain((swapped) => (swapped ? fc.tuple(other, one) : fc.tuple(one, other)));
  });

describe('text/diff-two-strings, on the main thread', () => {
  it('takes little work for what it takes on', () => {
    fc.assert(
      fc.property(shape, ([a, b]) => {
        fc.pre(isShort({ a, b }));
        expect(workOf(a, b)).to.be.at.most(mostWork);
      }),
      { numRuns: 150 },
    );
  });

  it('takes little work for the shapes that cost most', () => {
    const many = (count: number, line: (at: number) => string) =>
      Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('');
    const hostile: [string, string][] = [
      [many(99, (at) => `${at}`), many(99, (at) => `${98 - at}`)],
      [many(99, (at) => `${at}`), many(99, (at) => `${(at * 37) % 99}`)],
      [many(99, (at) => 'ab'[at % 2] as string), many(99, (at) => 'ab'[(at >> 1) % 2] as string)],
      [many(1900, (at) => 'ab'[at % 2] as string), 'a\nb\nb\na\n'],
      [many(1900, () => 'a'), 'b\na\nb\na\n'],
      ['\n'.repeat(7_998), 'x'],
      ['\n'.repeat(8_000), ''],
      ['😀'.repeat(2_000), '\ud83d'.repeat(4_000)],
    ];
    for (const [a, b] of hostile) {
      expect(isShort({ a, b })).to.equal(true);
      expect(workOf(a, b)).to.be.at.most(mostWork);
      expect(workOf(b, a)).to.be.at.most(mostWork);
    }
  });

  it('leaves long texts and many short lines to a worker', () => {
    expect(isShort({ a: 'x'.repeat(4_000), b: 'y'.repeat(4_000) })).to.equal(true);
    expect(isShort({ a: 'x'.repeat(4_001), b: 'y'.repeat(4_000) })).to.equal(false);
    expect(isShort({ a: 'x\n'.repeat(99), b: 'y\n'.repeat(99) })).to.equal(true);
    expect(isShort({ a: 'x\n'.repeat(166), b: 'y\n'.repeat(166) })).to.equal(false);
  });

  it('counts lines as the diff does, the one after the last newline too', () => {
    expect(isShort({ a: 'x\r\u2028'.repeat(1000), b: 'y\r\u2029'.repeat(1000) })).to.equal(true);
    expect(isShort({ a: 'x\r\n'.repeat(100), b: 'y\r\n'.repeat(100) })).to.equal(false);
  });
});
