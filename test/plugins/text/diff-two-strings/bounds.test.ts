import { expect } from 'chai';
import { ownCpuMs } from '../../../bench/cpu.js';
import { applyHunks } from './apply.js';
import { countEdits, diff } from './diff.js';

/** Lines from a fixed sequence (a linear congruential generator), so that a failure can be repeated. */
function randomLines(count: number, vocabulary: number, seed: number): string[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return `${(state >>> 8) % vocabulary}`;
  });
}

const text = (lines: string[]) => lines.map((line) => `${line}\n`).join('');

function expectApplies(a: string[], b: string[]): number {
  const result = diff(text(a), text(b));
  expect(applyHunks(a, result).join('\n') === b.join('\n')).to.equal(true);
  return countEdits(result);
}

describe('text/diff-two-strings, past the bound of its search', () => {
  let began: number;

  beforeEach(() => {
    began = ownCpuMs();
  });

  // A search without a bound would take minutes on most of these.
  afterEach(() => expect(ownCpuMs() - began).to.be.below(20_000));

  it('stays right on texts without a common line', () => {
    const a = Array.from({ length: 5000 }, (_, index) => `a${index}`);
    const b = Array.from({ length: 5000 }, (_, index) => `b${index}`);
    expect(expectApplies(a, b)).to.equal(10_000);
  });

  it('stays right and short on long texts of ten different lines', () => {
    expect(expectApplies(randomLines(10_000, 10, 1), randomLines(10_000, 10, 2))).to.be.below(13_000);
  });

  it('stays right on hundreds of thousands of lines', () => {
    expectApplies(randomLines(200_000, 2, 3), randomLines(200_000, 2, 4));
  });

  it('stays right on a megabyte of newlines', () => {
    expectApplies(Array(500_000).fill(''), Array(250_000).fill('a'));
  });

  it('stays in step with scattered edits', () => {
    const a = randomLines(20_000, 10, 5);
    const b = a.map((line, index) => (index % 10 === 3 ? 'edited' : line));
    b.splice(7000, 40);
    b.splice(12_000, 0, ...randomLines(60, 10, 6));
    expect(expectApplies(a, b)).to.be.below(4500);
  });

  it('finds its way by lines that both texts have once', () => {
    const part = (index: number, seed: number) => [`part ${index}`, ...randomLines(60, 5, seed)];
    const a = Array.from({ length: 150 }, (_, index) => part(index, 7 + index));
    const b = a.map((lines, index) => (index % 3 === 0 ? part(index, 1000 + index) : lines));
    const edits = expectApplies(a.flat(), [...part(999, 6), ...b.flat()]);
    expect(edits).to.be.below(5000);
  });

  it('stays right where every path has long common stretches', () => {
    const noise = (seed: number) => randomLines(600, 3, seed);
    const same = Array(100_000).fill('x');
    expectApplies([...noise(8), ...same, ...noise(9)], [...noise(10), ...same, ...noise(11)]);
  });

  it('stays shortest where one text is short beside the other', () => {
    const few = ['a', 'b', 'b', 'a'];
    const many = Array.from({ length: 40_000 }, (_, index) => 'abc'[index % 3] as string);
    expect(expectApplies(many, few)).to.equal(39_996);
    expect(expectApplies(few, many)).to.equal(39_996);
  });

  it('gives the same diff every time', () => {
    const a = text(randomLines(5000, 10, 12));
    const b = text(randomLines(5000, 10, 13));
    expect(diff(a, b)).to.equal(diff(a, b));
  });
});
