import { expect } from 'chai';
import fc from 'fast-check';
import { compileFields } from '../../../schemas/fields.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { parseFraction } from '../../../schemas/keywords/fraction.js';
import { parseTime } from '../../../schemas/keywords/future.js';
import type { Abilities } from '../../../schemas/keywords/keyword.js';
import { parseMeasure } from '../../../schemas/keywords/measure.js';
import { createAdminVocabulary, createVocabulary } from '../../../schemas/vocabulary.js';

/** The normal form of a value that a property's schema accepts, else what is wrong with it. */
function normalise(property: JsonSchema, value: unknown, abilities?: Abilities): unknown {
  const data = { value };
  const validate = createVocabulary(abilities).compile({ type: 'object', properties: { value: property } });
  return validate(data) ? data.value : validate.errors?.map(({ message }) => message).join('; ');
}

describe('keyword color', () => {
  it('writes the colour as #rrggbb, and leaves what is no string to its type', () => {
    const schema = { type: 'string', color: true, maxLength: 100 };
    expect(normalise(schema, 'Purple')).to.equal('#800080');
    expect(normalise(schema, 5)).to.equal('must be string');
  });

  it('accepts auto in any case where the schema does', () => {
    const auto = { type: 'string', color: { auto: true } };
    for (const text of ['auto', 'Auto', 'AUTO']) expect(normalise(auto, text)).to.equal('auto');
    expect(normalise(auto, 'Purple')).to.equal('#800080');
    expect(normalise(auto, 'atuo')).to.match(
      /^must be auto, or a solid colour: .* but is the string "atuo"; did you mean "auto"\?$/,
    );
    expect(normalise({ type: 'string', color: true }, 'auto')).to.match(/^must be a solid colour: /);
  });
});

describe('keyword choice', () => {
  const schema = { type: 'string', choice: { png: [], jpg: ['jpeg'], webp: [] } };

  it('accepts names and aliases in any case', () => {
    for (const [text, name] of Object.entries({ PNG: 'png', jpeg: 'jpg', Jpg: 'jpg', webp: 'webp' })) {
      expect(normalise(schema, text)).to.equal(name);
    }
  });

  it('lists what is allowed and suggests the nearest', () => {
    expect(normalise(schema, 'wepb')).to.equal(
      'must be one of png, jpg (or jpeg), webp, but is the string "wepb"; did you mean "webp"?',
    );
    expect(normalise(schema, 'bitmap')).to.equal(
      'must be one of png, jpg (or jpeg), webp, but is the string "bitmap"',
    );
  });

  it('finds nothing on a prototype', () => {
    for (const text of ['constructor', '__proto__', 'toString', ''])
      expect(normalise(schema, text)).to.contain('must be one of');
  });

  it('refuses a schema in which two choices share a spelling', () => {
    expect(() => normalise({ type: 'string', choice: { a: [], b: ['A'] } }, 'a')).to.throw(
      '"a" is listed twice',
    );
  });
});

describe('keyword fraction', () => {
  const schema = { type: ['number', 'string'], fraction: true };

  it('reads numbers, and texts with and without %', () => {
    for (const [value, fraction] of [
      [0, 0],
      [0.3, 0.3],
      [1, 1],
      [2, 0.02],
      [50, 0.5],
      [100, 1],
    ]) {
      expect(normalise(schema, value)).to.equal(fraction);
    }
    const texts = {
      '0.5': 0.5,
      '1': 1,
      '50%': 0.5,
      '1%': 0.01,
      '0.5%': 0.005,
      '0%': 0,
      '100%': 1,
      '25': 0.25,
    };
    for (const [text, fraction] of Object.entries(texts)) {
      expect(normalise(schema, text), text).to.equal(fraction);
    }
  });

  it('refuses everything else', () => {
    const texts = ['1.5', '101%', '-1', '', ' 1', '0x1', '1e-1', '%', '5 %', 'half'];
    for (const value of [-0.1, 1.5, 1.0001, 1.99, 100.1, 1e9, ...texts]) {
      expect(normalise(schema, value), String(value)).to.contain('must be a fraction from 0 to 1');
    }
  });

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
    expect(normalise(schema, 'a☃b😀☃', { canDraw })).to.equal(
      'has characters that no font here can draw: "☃" (U+2603), "😀" (U+1F600)',
    );
    expect(normalise(schema, '一二三四五六七', { canDraw })).to.match(/"五" \(U\+4E94\) and 2 more$/);
  });

  it('does not print an invisible one', () => {
    expect(normalise(schema, '\u202e', { canDraw })).to.contain('"\\u{202e}" (U+202E)');
  });

  it('accepts line breaks where the schema does, as line feeds, and no other control', () => {
    const canDrawLetters = (text: string) => [...text].filter((character) => character < ' ');
    const lines = { type: 'string', drawable: { lines: true } };
    expect(normalise(lines, 'a\r\nb\nc', { canDraw: canDrawLetters })).to.equal('a\nb\nc');
    expect(normalise(lines, 'a\rb', { canDraw: canDrawLetters })).to.contain('(U+000D)');
    expect(normalise(lines, 'a\tb\n', { canDraw: canDrawLetters })).to.contain('(U+0009)');
    expect(normalise(schema, 'a\nb', { canDraw: canDrawLetters })).to.contain('(U+000A)');
  });

  it('accepts what can be drawn, and everything without fonts', () => {
    expect(normalise(schema, 'abc', { canDraw })).to.equal('abc');
    expect(normalise(schema, '☃')).to.equal('☃');
  });
});

describe('keyword encodable', () => {
  const schema = { type: 'string', choice: { png: [], avif: ['heif'] }, encodable: true };
  const canEncode = (format: string) => (format === 'avif' ? 'cannot be avif here' : undefined);

  it('validates the normal form of the choice', () => {
    expect(normalise(schema, 'HEIF', { canEncode })).to.equal('cannot be avif here');
    expect(normalise(schema, 'PNG', { canEncode })).to.equal('png');
  });

  it('accepts all formats where the engine is unknown', () => {
    expect(normalise(schema, 'avif')).to.equal('avif');
  });
});

describe('keyword measure', () => {
  const all = { minimum: 4, maximum: 1000, percent: true, auto: true } as const;
  const read = (value: unknown, measure: object = all) =>
    normalise({ type: ['integer', 'string'], measure }, value);

  it('reads pixels, per cent and auto', () => {
    expect([read(4), read(1000), read('20'), read('0020')]).to.deep.equal([4, 1000, 20, 20]);
    const texts = { '5%': '5%', '5.50%': '5.5%', '007.0%': '7%', '0%': '0%', '100%': '100%' };
    for (const [text, measure] of Object.entries({
      ...texts,
      '0.000001%': '0.000001%',
      auto: 'auto',
      Auto: 'auto',
    })) {
      expect(read(text), text).to.equal(measure);
    }
  });

  it('refuses everything else', () => {
    const texts = [
      '3',
      '2.5',
      '-5',
      '+5',
      '1e2',
      '',
      ' 5',
      '5 %',
      '%',
      '-1%',
      '100.1%',
      '1e1%',
      '0.0000001%',
    ];
    for (const value of [3, 1001, 2.5, ...texts, '٢٠', 'automatic', 'auto ']) {
      expect(read(value), String(value)).to.contain('must be');
    }
  });

  it('accepts per cent and auto only where the schema does', () => {
    const plain = { minimum: 0, maximum: 9 };
    expect(read('auto', plain)).to.equal(
      'must be a whole number of pixels from 0 to 9, but is the string "auto"',
    );
    expect(read('5%', { ...plain, auto: true })).to.equal(
      'must be a whole number of pixels from 0 to 9, or auto, but is the string "5%"',
    );
    expect(read('auto', { ...plain, percent: true })).to.equal(
      'must be a whole number of pixels from 0 to 9, or per cent such as "5%", but is the string "auto"',
    );
  });

  it('suggests the value without its unit', () => {
    expect(read('20px')).to.equal(
      'must be a whole number of pixels from 4 to 1000, per cent such as "5%", or auto, but is the string "20px"; write 20',
    );
    expect(read('2000px')).to.match(/"2000px"$/);
    expect(read('5.50 %')).to.match(/; write 5\.5%$/);
    expect(read('101 %')).to.match(/"101 %"$/);
  });

  it('is pixels in its bounds, per cent to 100, auto, or nothing, for anything', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer(), fc.string(), fc.anything()), (value) => {
        const measure = parseMeasure(value, all);
        if (typeof measure === 'number') expect(measure).to.be.within(4, 1000).and.satisfy(Number.isInteger);
        else if (measure?.endsWith('%')) expect(Number(measure.slice(0, -1))).to.be.within(0, 100);
        else expect(measure).to.be.oneOf(['auto', undefined]);
      }),
    );
  });

  it('leaves its own normal forms as they are', () => {
    const places = fc.integer({ min: 0, max: 6 });
    const percent = fc
      .tuple(fc.integer({ min: 0, max: 99 }), fc.nat(999_999), places)
      .map(([whole, part, most]) => `${whole}.${String(part).padStart(6, '0').slice(0, most)}0%`);
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 4, max: 1000 }).map(String), percent), (text) => {
        const measure = parseMeasure(text.replace(/(\.\d{6})\d+%/, '$1%'), all);
        expect(measure).not.to.equal(undefined);
        expect(parseMeasure(measure, all)).to.equal(measure);
        expect(parseFloat(String(measure))).to.be.closeTo(parseFloat(text), 1e-9);
      }),
    );
  });
});

const now = Date.UTC(2030, 0, 1);
const ajv = createAdminVocabulary({ knownScopes: () => [], now: () => now });
const fields = compileFields(ajv, { properties: { at: { type: 'string', future: true } } });

/** What is wrong with a value, or undefined. */
function problem(at: unknown): string | undefined {
  return fields.check({ at }).problems[0]?.problem;
}

describe('keyword future', () => {
  const times = {
    '2030-01-31': Date.UTC(2030, 0, 31),
    '2030-01-31T18:00Z': Date.UTC(2030, 0, 31, 18),
    '2030-01-31T18:00:30.250Z': Date.UTC(2030, 0, 31, 18, 0, 30, 250),
    '2030-01-31T18:00:30.250999+00:00': Date.UTC(2030, 0, 31, 18, 0, 30, 250),
    '2030-01-31T18:00:00+02:00': Date.UTC(2030, 0, 31, 16),
    '2030-01-31T18:00:00-0530': Date.UTC(2030, 0, 31, 23, 30),
    '2032-02-29': Date.UTC(2032, 1, 29),
  };

  it('reads days, and times with an offset', () => {
    for (const [text, time] of Object.entries(times)) {
      expect(parseTime(text), text).to.equal(time);
      expect(problem(text), text).to.equal(undefined);
    }
  });

  it('says that a time needs an offset', () => {
    expect(problem('2030-01-31T18:00:00')).to.include('Z or an offset');
  });

  it('accepts none for never', () => {
    expect(problem(undefined)).to.equal(undefined);
  });

  it('refuses everything else, and says what it accepts', () => {
    const days = ['tomorrow', '31.01.2030', '2030-02-30', '2030-13-01', '2030', '', ' 2030-01-31'];
    for (const value of [...days, '2030-01-31T25:00Z', '2030-01-31T18:00', 1900000000000, {}]) {
      expect(problem(value), String(value)).to.include('ISO 8601');
    }
  });

  it('refuses what has passed', () => {
    expect(problem('2030-01-01')).to.include('passed');
  });
});
