import { expect } from 'chai';
import fc from 'fast-check';
import { describeProperty } from '../../schemas/describe.js';
import { describeValue, quote, visible, visibleJson } from '../../schemas/quote.js';
import { anyCharacter } from '../examples.js';

describe('describeProperty', () => {
  for (const [schema, text] of [
    [{ type: 'integer', minimum: 0, maximum: 5000 }, 'an integer from 0 to 5000'],
    [{ type: 'number', exclusiveMinimum: 0 }, 'a number above 0'],
    [{ type: 'integer', minimum: 1, multipleOf: 2 }, 'an integer of at least 1 in steps of 2'],
    [{ type: 'boolean' }, 'true or false'],
    [{ type: 'string' }, 'a string'],
    [{ type: 'string', minLength: 1, maxLength: 500 }, 'a string of 1 to 500 characters'],
    [{ type: 'string', maxLength: 1 }, 'a string of at most 1 character'],
    [{ type: 'string', pattern: '^a' }, 'a string that matches ^a'],
    [{ type: 'string', enum: ['a', 'b c'] }, 'one of a, "b c"'],
    [{ const: 3 }, '3'],
    [{ type: 'string', choice: { png: [], jpg: ['jpeg'] } }, 'one of png, jpg (or jpeg)'],
    [
      { type: 'array', maxItems: 3, uniqueItems: true, items: { type: 'integer' } },
      'a list of at most 3 items, all different, each an integer',
    ],
    [{ type: ['integer', 'boolean'] }, 'an integer or true or false'],
    [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, 'an integer or a string'],
    [{ type: 'object' }, 'an object'],
    [{ type: 'number', fraction: true }, 'a fraction from 0 to 1, or per cent as 2 to 100 or "50%"'],
    [{}, 'a value that its schema allows'],
  ] as const) {
    it(`says "${text}"`, () => expect(describeProperty(schema)).to.equal(text));
  }

  it('lists a hundred values at most', () => {
    const text = describeProperty({ enum: Array.from({ length: 2000 }, (_, at) => `v${at}`) });
    expect(text).to.match(/^one of v0, v1, .*, v99 and 1900 more$/);
  });

  it('describes once what holds itself', () => {
    const list = { type: 'array', maxItems: 3, items: { $ref: '#/definitions/list' } };
    const json = { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/definitions/json' } }] };
    const root = { definitions: { list, json } };
    expect(describeProperty(list, root)).to.equal('a list of at most 3 items');
    expect(describeProperty({ $ref: '#/definitions/json' }, root)).to.equal('a string or a list');
  });
});

describe('quote', () => {
  it('escapes quotes, controls, bidi overrides and lone surrogates, and cuts after 60 characters, not inside one', () => {
    expect(quote('a"b\\')).to.equal('"a\\"b\\\\"');
    expect(quote('\0\r\n\u202e\ud800')).to.equal('"\\u{0}\\u{d}\\u{a}\\u{202e}\\u{d800}"');
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
    expect([null, '', 'x', 5, true, [], [1, 2], {}].map(describeValue).join(', ')).to.equal(
      'null, the empty string, the string "x", the number 5, the boolean true, an empty list, a list of 2, an object',
    );
  });
});
