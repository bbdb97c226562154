import { expect } from 'chai';
import fc from 'fast-check';
import { stopwordsOf } from '../../../../plugins/text/remove-stopwords/lists.js';
import { anyCharacter } from '../../../any-character.js';
import { remove } from './remove.js';

const list = stopwordsOf('eng');
const isApostrophe = (character: string | undefined) => character !== undefined && "'’ʼ".includes(character);
const isLetter = (character: string | undefined) =>
  character !== undefined && !isApostrophe(character) && /[\p{L}\p{M}\p{N}_]/u.test(character);

/** The rule once more, character by character, as the documentation words it. */
function oracle(text: string): { text: string; between: string[] } {
  const characters = [...text];
  const between: string[] = [];
  let gap = '';
  let result = '';
  for (let at = 0; at < characters.length; ) {
    let end = at;
    while (
      isLetter(characters[end]) ||
      (end > at && isApostrophe(characters[end]) && isLetter(characters[end + 1]))
    )
      end++;
    if (end === at) {
      gap += characters[at];
      result += characters[at++];
      continue;
    }
    const word = characters.slice(at, end).join('');
    const form = [...word.toLowerCase()].map((one) => (isApostrophe(one) ? "'" : one)).join('');
    if (!list.has(form)) result += word;
    between.push(gap);
    gap = '';
    at = end;
  }
  return { text: result, between: [...between, gap] };
}

const piece = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('the', 'The', 'OF', "don't", 'don’t', 'I', 'a', 'fox', "John's", 'it'),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(' ', '  ', '\n', "'", '’', 'ʼ', '-', '_', '.', '\u0301', '7', 'é', '\ud800'),
  },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 3 }) },
);
const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));

describe('text/remove-stopwords, as a property', () => {
  it('does what the rule says and nothing else', () => {
    fc.assert(
      fc.property(text, (input) => {
        expect(remove(input)).to.equal(oracle(input).text);
      }),
      { numRuns: 1000 },
    );
  });

  it('leaves what lies between words, in its order', () => {
    fc.assert(
      fc.property(text, (input) => {
        let from = 0;
        const output = remove(input);
        for (const part of oracle(input).between) {
          const found = output.indexOf(part, from);
          expect(found).to.be.at.least(from);
          from = found + part.length;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('changes nothing more the second time', () => {
    fc.assert(
      fc.property(text, (input) => {
        const once = remove(input);
        expect(remove(once)).to.equal(once);
      }),
      { numRuns: 300 },
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
