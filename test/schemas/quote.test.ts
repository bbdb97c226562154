import { expect } from 'chai';
import fc from 'fast-check';
import { describeValue, quote, visible, visibleJson } from '../../schemas/quote.js';
import { anyCharacter } from '../examples.js';

describe('quote', () => {
  it('escapes quotes, controls, bidi overrides and lone surrogates', () => {
    expect(quote('a"b\\')).to.equal('"a\\"b\\\\"');
    expect(quote('\0\r\n\u202e\ud800')).to.equal('"\\u{0}\\u{d}\\u{a}\\u{202e}\\u{d800}"');
  });

  it('cuts after 60 characters, not inside one', () => {
    expect(quote('😀'.repeat(61))).to.equal(`"${'😀'.repeat(60)}…"`);
    expect(quote('a'.repeat(60))).to.equal(`"${'a'.repeat(60)}"`);
  });

  it('is short and printable for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 500 }), (text) => {
        expect(quote(text)).to.match(/^"[^\p{Cc}\p{Cs}]*"$/u);
        expect(quote(text).length).to.be.below(600);
      }),
    );
  }).timeout(30_000);
});

describe('visible', () => {
  it('leaves nothing in a text that a terminal would obey, but line ends and tabs', () => {
    expect(visible('a\n\tb "c" ü')).to.equal('a\n\tb "c" ü');
    expect(visible('\u001b[2J\r\u009b\u202e')).to.equal('\\u{1b}[2J\\u{d}\\u{9b}\\u{202e}');
  });

  it('is the same JSON document for a terminal, without controls', () => {
    const value = { '\u001b\u009b': ['\u202e a\n\t"ü"', '\u{e0041}\u007f', '\\u009b'] };
    const shown = visibleJson(JSON.stringify(value, undefined, 2));
    expect(JSON.parse(shown)).to.deep.equal(value);
    expect(shown.replaceAll('\n', '')).to.match(/^[ -~ü]+$/);
  });
});

describe('describeValue', () => {
  it('names the type before the value', () => {
    const values = [null, '', 'x', 5, true, [], [1, 2], {}];
    expect(values.map(describeValue)).to.deep.equal([
      'null',
      'the empty string',
      'the string "x"',
      'the number 5',
      'the boolean true',
      'an empty list',
      'a list of 2',
      'an object',
    ]);
  });
});
