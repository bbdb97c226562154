import { expect } from 'chai';
import fc from 'fast-check';
import { isShort } from '../../../../plugins/text/remove-stopwords/short.js';
import { remove } from './remove.js';

/**
 * Units that a call on the main thread may take: a word that is normalized counts 1 and 1/50 for each character, a piece that a
 * dictionary finds counts 4. A unit was measured at 0.1 to 0.35 µs.
 */
const mostWork = 2_700;

/** What a call takes, counted where it normalizes and where it asks the dictionary. */
function workOf(text: string, options: { language: string; keep: string[]; also: string[] }): number {
  const { normalize } = String.prototype;
  const { segment } = Intl.Segmenter.prototype;
  let work = 0;
  String.prototype.normalize = function count(this: string, ...form) {
    work += 1 + this.length / 50;
    return normalize.apply(this, form);
  };
  Intl.Segmenter.prototype.segment = function count(this: Intl.Segmenter, input) {
    const found = segment.call(this, input);
    work += 4 * [...found].length;
    return found;
  };
  try {
    remove(text, options);
  } finally {
    String.prototype.normalize = normalize;
    Intl.Segmenter.prototype.segment = segment;
  }
  return work;
}

const languages = ['eng', 'deu', 'kor', 'zho', 'jpn', 'tha', 'mya'];
const piece = fc.constantFrom(
  'a',
  'the',
  ' ',
  "don't",
  'İ',
  'ΰ',
  '\u0301',
  '\u0323',
  '가',
  '你',
  '研究',
  'は',
  'ア',
  'ก',
  'ภาษา',
  'က',
  '𠀀',
  '\ud840',
  '😀',
  "'",
);
const call = fc.record({
  unit: fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join('')),
  language: fc.constantFrom(...languages),
  keep: fc.array(fc.constantFrom('fox', `b${'\u0301\u0323'.repeat(30)}`), { maxLength: 60, size: 'max' }),
});

describe('text/remove-stopwords, on the main thread', () => {
  before(() => {
    // The list of a language is prepared once.
    for (const language of languages) remove('', { language });
  });

  it('takes little work for what it takes on', () => {
    fc.assert(
      fc.property(call, fc.constantFrom(500, 4_000), ({ unit, language, keep }, length) => {
        const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
        fc.pre(isShort({ text, language, keep, also: [] }));
        expect(workOf(text, { language, keep, also: [] })).to.be.at.most(mostWork);
      }),
      { numRuns: 300 },
    );
  });

  it('would take more for what it leaves to a worker', () => {
    expect(workOf('a '.repeat(4_000), { language: 'eng', keep: [], also: [] })).to.be.above(mostWork);
    expect(workOf('あ '.repeat(1_000), { language: 'jpn', keep: [], also: [] })).to.be.above(mostWork);
  });

  it('leaves long texts, long lists and half-long texts without spaces to a worker', () => {
    const short = { text: 'x'.repeat(4_000), language: 'eng', keep: [], also: [] };
    expect(isShort(short)).to.equal(true);
    expect(isShort({ ...short, text: 'x'.repeat(4_001) })).to.equal(false);
    expect(isShort({ ...short, keep: Array(25).fill('x'), also: Array(26).fill('x') })).to.equal(false);
    for (const language of ['zho', 'jpn', 'tha', 'mya']) {
      expect(isShort({ ...short, language, text: 'x'.repeat(500) })).to.equal(true);
      expect(isShort({ ...short, language, text: 'x'.repeat(501) })).to.equal(false);
    }
  });
});
