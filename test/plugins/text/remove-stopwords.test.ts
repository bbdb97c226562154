import { expect } from 'chai';
import fc from 'fast-check';
import { eng } from 'stopword';
import plugin from '../../../plugins/text/remove-stopwords/index.js';
import { isShort, languages, stopwordsOf } from '../../../plugins/text/remove-stopwords/remove.js';
import { anyCharacter } from '../../examples.js';
import { callContext } from '../call-context.js';

/** Calls the helper as the gateway does, defaults filled in. */
function remove(text: string, options: { language?: string; keep?: string[]; also?: string[] } = {}): string {
  const input = { text, language: 'eng', keep: [], also: [], ...options };
  const result = plugin.handler(input, callContext('text/remove-stopwords'));
  return (result as { text: string }).text;
}

describe('text/remove-stopwords', () => {
  type Example = [text: string, expected: string, options?: Parameters<typeof remove>[1]];
  const same = (text: string): Example => [text, text];
  const examples: Record<string, Example[]> = {
    'removes stopwords and leaves every space': [
      ['The quick brown fox jumps over the lazy dog.', ' quick brown fox jumps   lazy dog.'],
      ['\tto\r\n be  or\u00a0not', '\t\r\n   \u00a0'],
    ],
    'takes a contraction for one word, with any apostrophe': [
      ["don't don’t donʼt DON'T", '   '],
      ["it's shan't who'd could've", '   '],
    ],
    'does not take a possessive for its noun': [
      ["John's", "John's", { also: ['john'] }],
      ["John's", '', { also: ["john's"] }],
    ],
    'takes composed and decomposed letters for the same': [['été e\u0301te\u0301', ' ', { language: 'fra' }]],
    'answers a text without words as it is': [same(''), same(' …\n\0 \ud800 😀')],
    'keeps what keep names, also against also': [
      ["This is NOT the end, don't", "  NOT  end, don't", { keep: [' not', 'Don’t'] }],
      ['fox', 'fox', { keep: ['FOX'], also: ['fox'] }],
    ],
    'removes what also names': [['The Quick fox', '  fox', { also: ['quick '] }]],
    'is not led astray by names of object properties': [same('constructor __proto__ toString')],
    'removes words of other scripts': [
      ['Я не знаю', '  знаю', { language: 'rus' }],
      ['Das ist EIN Test', '   Test', { language: 'deu' }],
      ['هذا كتاب', ' كتاب', { language: 'ara' }],
    ],
    'finds words in scripts without spaces, and leaves others whole': [
      ['我们的研究，方法是有效的', '我们研究，方法有效', { language: 'zho' }],
      ['これは私の本', '私本', { language: 'jpn' }],
      ["don't 😀 x_y", "don't 😀 x_y", { language: 'zho' }],
    ],
    'has the English completion for English only': [
      ['she is not here', 'she is not here', { language: 'deu' }],
    ],
  };
  for (const [title, all] of Object.entries(examples)) {
    it(title, () => {
      for (const [text, expected, options] of all) expect(remove(text, options)).to.equal(expected);
    });
  }
});

describe('text/remove-stopwords, its lists', () => {
  it('has every list of the stopword package as a language, with words, and removes them all', () => {
    expect(languages).to.include.members(['eng', 'deu', 'fra', 'spa', 'porBr', 'zho', '_123']);
    expect(languages).not.to.include('removeStopwords');
    expect(plugin.input.properties.language.enum).to.equal(languages);
    for (const language of languages) {
      const all = [...stopwordsOf(language)];
      expect(all.length, language).to.be.above(20);
      expect(remove(all.join('\n'), { language }).trim(), language).to.equal('');
    }
  });

  it('completes the English list of the package', () => {
    expect([...stopwordsOf('eng')]).to.include.members(eng);
    const missing = "she not no so its when will us just off down why because shan't you're who's";
    expect([...stopwordsOf('eng')]).to.include.members(missing.split(' '));
  });
});

describe('text/remove-stopwords, on the main thread', () => {
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
    ...['a', 'the', ' ', "don't", 'İ', 'ΰ', '\u0301', '\u0323', '가', '你', '研究', 'は', 'ア', 'ก', 'ภาษา'],
    ...['က', '𠀀', '\ud840', '😀', "'"],
  );
  const call = fc.record({
    unit: fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join('')),
    language: fc.constantFrom(...languages),
    keep: fc.array(fc.constantFrom('fox', `b${'\u0301\u0323'.repeat(30)}`), { maxLength: 60, size: 'max' }),
  });

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

const english = stopwordsOf('eng');
const isApostrophe = (character: string | undefined) => character !== undefined && "'’ʼ".includes(character);
const isLetter = (character: string | undefined) =>
  character !== undefined && !isApostrophe(character) && /[\p{L}\p{M}\p{N}_]/u.test(character);

/** The rule once more, character by character, as the documentation words it. */
function oracle(text: string): string {
  const characters = [...text];
  let result = '';
  for (let at = 0; at < characters.length; ) {
    let end = at;
    while (
      isLetter(characters[end]) ||
      (end > at && isApostrophe(characters[end]) && isLetter(characters[end + 1]))
    )
      end++;
    if (end === at) {
      result += characters[at++];
      continue;
    }
    const word = characters.slice(at, end).join('');
    const form = [...word.toLowerCase()].map((one) => (isApostrophe(one) ? "'" : one)).join('');
    if (!english.has(form)) result += word;
    at = end;
  }
  return result;
}

const spoken = ['the', 'The', 'OF', "don't", 'don’t', 'I', 'a', 'fox', "John's", 'it'];
const between = [' ', '  ', '\n', "'", '’', 'ʼ', '-', '_', '.', '\u0301', '7', 'é', '\ud800'];
const piece = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...spoken, ...between) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 3 }) },
);
const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));

describe('text/remove-stopwords, as a property', () => {
  it('does what the rule says and nothing else, and changes nothing more the second time', () => {
    fc.assert(
      fc.property(text, (input) => {
        const once = remove(input);
        expect(once).to.equal(oracle(input));
        expect(remove(once)).to.equal(once);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('text/remove-stopwords, on hostile text', () => {
  const hostile = {
    'a megabyte of apostrophes': "'".repeat(1_000_000),
    'a megabyte of joined letters': "b'".repeat(500_000),
    'a megabyte of modifier letters': 'ʼ'.repeat(1_000_000),
    'one word of a megabyte': 'b'.repeat(1_000_000),
    'a letter under a megabyte of marks': `b${'\u0301\u0323'.repeat(500_000)}`,
  };
  for (const [name, input] of Object.entries(hostile)) {
    it(`answers ${name}`, () => {
      expect(remove(input) === input).to.equal(true);
      expect(remove(input, { language: 'jpn' }) === input).to.equal(true);
    });
  }

  it('answers a megabyte without spaces in a script that has none', () => {
    const clause = '研究结果表明';
    expect(remove(clause.repeat(20_000), { language: 'zho' })).to.have.length.above(100_000);
  });
});
