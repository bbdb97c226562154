import { expect } from 'chai';
import fc from 'fast-check';
import { parseFraction } from '../../../schemas/vocabulary/fraction.js';
import { judgeValue as judge } from './judge-value.js';

describe('keyword color', () => {
  it('writes the colour as #rrggbb', () => {
    expect(judge({ type: 'string', color: true, maxLength: 100 }, 'Purple')).to.equal('#800080');
  });

  it('takes auto in any case where it is asked to, and says so', () => {
    const auto = { type: 'string', color: { auto: true } };
    for (const text of ['auto', 'Auto', 'AUTO']) expect(judge(auto, text)).to.equal('auto');
    expect(judge(auto, 'Purple')).to.equal('#800080');
    expect(judge(auto, 'atuo')).to.match(
      /^must be auto, or a solid colour: .* but is the string "atuo"; did you mean "auto"\?$/,
    );
    expect(judge({ type: 'string', color: true }, 'auto')).to.match(/^must be a solid colour: /);
  });

  it('makes nothing of what is no string', () => {
    expect(judge({ type: 'string', color: true }, 5)).to.equal('must be string');
  });
});

describe('keyword choice', () => {
  const schema = { type: 'string', choice: { png: [], jpg: ['jpeg'], webp: [] } };

  it('takes names and aliases in any case', () => {
    for (const [text, name] of [
      ['PNG', 'png'],
      ['jpeg', 'jpg'],
      ['Jpg', 'jpg'],
      ['webp', 'webp'],
    ]) {
      expect(judge(schema, text)).to.equal(name);
    }
  });

  it('lists what is allowed and suggests the nearest', () => {
    expect(judge(schema, 'wepb')).to.equal(
      'must be one of png, jpg (or jpeg), webp, but is the string "wepb"; did you mean "webp"?',
    );
    expect(judge(schema, 'bitmap')).to.equal(
      'must be one of png, jpg (or jpeg), webp, but is the string "bitmap"',
    );
  });

  it('finds nothing on a prototype', () => {
    for (const text of ['constructor', '__proto__', 'toString', ''])
      expect(judge(schema, text)).to.contain('must be one of');
  });

  it('refuses a schema in which two choices share a spelling', () => {
    expect(() => judge({ type: 'string', choice: { a: [], b: ['A'] } }, 'a')).to.throw('"a" is listed twice');
  });
});

describe('keyword fraction', () => {
  for (const [value, fraction] of [
    [0, 0],
    [0.3, 0.3],
    [1, 1],
    [2, 0.02],
    [50, 0.5],
    [100, 1],
    ['0.5', 0.5],
    ['1', 1],
    ['50%', 0.5],
    ['1%', 0.01],
    ['0.5%', 0.005],
    ['0%', 0],
    ['100%', 1],
    ['25', 0.25],
  ] as const) {
    it(`reads ${JSON.stringify(value)} as ${fraction}`, () => {
      expect(judge({ type: ['number', 'string'], fraction: true }, value)).to.equal(fraction);
    });
  }

  for (const value of [
    -0.1,
    1.5,
    1.0001,
    1.99,
    100.1,
    1e9,
    '1.5',
    '101%',
    '-1',
    '',
    ' 1',
    '0x1',
    '1e-1',
    '%',
    '5 %',
    'half',
  ]) {
    it(`refuses ${JSON.stringify(value)}`, () => {
      expect(judge({ type: ['number', 'string'], fraction: true }, value)).to.contain(
        'must be a fraction from 0 to 1',
      );
    });
  }

  it('is a number from 0 to 1 or nothing, for anything', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.string(), fc.anything()), (value) => {
        const fraction = parseFraction(value);
        if (fraction !== undefined) expect(fraction).to.be.within(0, 1);
      }),
    );
  });
});

describe('keyword drawable', () => {
  const schema = { type: 'string', drawable: true };
  const canDraw = (text: string) => [...new Set(text)].filter((character) => character > '\u2000');

  it('names each character that cannot be drawn, a few at most', () => {
    expect(judge(schema, 'a☃b😀☃', { canDraw })).to.equal(
      'has characters that no font here can draw: "☃" (U+2603), "😀" (U+1F600)',
    );
    expect(judge(schema, '一二三四五六七', { canDraw })).to.match(/"五" \(U\+4E94\) and 2 more$/);
  });

  it('does not print an invisible one', () => {
    expect(judge(schema, '\u202e', { canDraw })).to.contain('"\\u{202e}" (U+202E)');
  });

  it('takes what can be drawn, and everything where nobody judges', () => {
    expect(judge(schema, 'abc', { canDraw })).to.equal('abc');
    expect(judge(schema, '☃')).to.equal('☃');
  });
});

describe('keyword encodable', () => {
  const schema = { type: 'string', choice: { png: [], avif: ['heif'] }, encodable: true };
  const canEncode = (format: string) => (format === 'avif' ? 'cannot be avif here' : undefined);

  it('asks of the name that a choice has become', () => {
    expect(judge(schema, 'HEIF', { canEncode })).to.equal('cannot be avif here');
    expect(judge(schema, 'PNG', { canEncode })).to.equal('png');
  });

  it('lets all pass where nobody knows the engine', () => {
    expect(judge(schema, 'avif')).to.equal('avif');
  });
});
