import { expect } from 'chai';
import fc from 'fast-check';
import { compileFields } from '../../../schemas/fields.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { parseFraction } from '../../../schemas/keywords/fraction.js';
import { parseTime } from '../../../schemas/keywords/future.js';
import type { Abilities } from '../../../schemas/keywords/keyword.js';
import { parseMeasure } from '../../../schemas/keywords/measure.js';
import { createAdminVocabulary, createVocabulary } from '../../../schemas/vocabulary.js';
import { words } from '../../examples.js';

/** The normal form of a value that a property's schema accepts, else what is wrong with it. */
function normalise(property: JsonSchema, value: unknown, abilities?: Abilities): unknown {
  const data = { value };
  const validate = createVocabulary(abilities).compile({ type: 'object', properties: { value: property } });
  return validate(data) ? data.value : validate.errors?.map(({ message }) => message).join('; ');
}

const color = { type: 'string', color: true, maxLength: 100 };
const autoColor = { type: 'string', color: { auto: true } };
const choice = { type: 'string', choice: { png: [], jpg: ['jpeg'], webp: [] } };
const fraction = { type: ['number', 'string'], fraction: true };
const drawable = { type: 'string', drawable: true };
const lines = { type: 'string', drawable: { lines: true } };
const formats = { type: 'string', choice: { png: [], avif: ['heif'] }, encodable: true };
const measureOf = (setting: object) => ({ type: ['integer', 'string'], measure: setting });
const bounds = { minimum: 4, maximum: 1000, percent: true, auto: true } as const;
const measure = measureOf(bounds);
const few = { minimum: 0, maximum: 9 };

const isAscii = (text: string) => [...new Set(text)].filter((character) => character > '\u2000');
const isLetter = (text: string) => [...text].filter((character) => character < ' ');
const canEncode = (format: string) => (format === 'avif' ? 'cannot be avif here' : undefined);
const allowed = 'must be one of png, jpg (or jpeg), webp, but is the string';
const undrawn = 'has characters that no font here can draw: ';
const pixels = 'must be a whole number of pixels from 0 to 9';

describe('own keywords', () => {
  for (const [what, schema, value, expected, abilities] of [
    ['a colour as #rrggbb', color, 'Purple', '#800080'],
    ['what is no string to its type', color, 5, 'must be string'],
    ['a colour beside auto', autoColor, 'Purple', '#800080'],
    ['what may mean auto', autoColor, 'atuo', /^must be auto, or a solid .* "atuo"; did you mean "auto"\?$/],
    ['no auto elsewhere', { type: 'string', color: true }, 'auto', /^must be a solid colour: /],
    ['the nearest choice', choice, 'wepb', `${allowed} "wepb"; did you mean "webp"?`],
    ['all choices', choice, 'bitmap', `${allowed} "bitmap"`],
    [
      'each character that has no font',
      drawable,
      'a☃b😀☃',
      `${undrawn}"☃" (U+2603), "😀" (U+1F600)`,
      { canDraw: isAscii },
    ],
    ['a few of them', drawable, '一二三四五六七', /"五" \(U\+4E94\) and 2 more$/, { canDraw: isAscii }],
    ['no invisible one', drawable, '\u202e', /"\\u\{202e\}" \(U\+202E\)/, { canDraw: isAscii }],
    ['line breaks as line feeds', lines, 'a\r\nb\nc', 'a\nb\nc', { canDraw: isLetter }],
    ['no other control', lines, 'a\rb', /\(U\+000D\)/, { canDraw: isLetter }],
    ['no tab', lines, 'a\tb\n', /\(U\+0009\)/, { canDraw: isLetter }],
    ['no line break elsewhere', drawable, 'a\nb', /\(U\+000A\)/, { canDraw: isLetter }],
    ['what can be drawn', drawable, 'abc', 'abc', { canDraw: isAscii }],
    ['every character without fonts', drawable, '☃', '☃'],
    ['the normal form of a format', formats, 'HEIF', 'cannot be avif here', { canEncode }],
    ['a format that can be written', formats, 'PNG', 'png', { canEncode }],
    ['all formats where the engine is unknown', formats, 'avif', 'avif'],
    ['no auto for pixels', measureOf(few), 'auto', `${pixels}, but is the string "auto"`],
    ['no per cent', measureOf({ ...few, auto: true }), '5%', `${pixels}, or auto, but is the string "5%"`],
    ['no auto with per cent', measureOf({ ...few, percent: true }), 'auto', / or per cent such as "5%", but/],
    ['pixels without a unit', measure, '20px', /4 to 1000, per cent such as "5%", or auto, .*; write 20$/],
    ['no pixels that are too many', measure, '2000px', /"2000px"$/],
    ['per cent without a space', measure, '5.50 %', /; write 5\.5%$/],
    ['no per cent that is too much', measure, '101 %', /"101 %"$/],
  ] as [string, JsonSchema, unknown, string | RegExp, Abilities?][]) {
    it(`give or name ${what}`, () => {
      const given = normalise(schema, value, abilities);
      if (typeof expected === 'string') expect(given).to.equal(expected);
      else expect(given).to.match(expected);
    });
  }

  const texts = { '0.5': 0.5, '1': 1, '50%': 0.5, '1%': 0.01, '0.5%': 0.005, '0%': 0, '100%': 1, '25': 0.25 };
  const percents = { '5%': '5%', '5.50%': '5.5%', '007.0%': '7%', '0%': '0%', '0.000001%': '0.000001%' };
  const lengths = { '20': 20, '0020': 20, auto: 'auto', Auto: 'auto', ...percents };
  for (const [keyword, schema, right, wrong, problem] of [
    ['color', autoColor, ['auto', 'Auto', 'AUTO'].map((text) => [text, 'auto']), [], ''],
    [
      'choice',
      choice,
      Object.entries({ PNG: 'png', jpeg: 'jpg', Jpg: 'jpg', webp: 'webp' }),
      ['constructor', '__proto__', 'toString', ''],
      'must be one of',
    ],
    [
      'fraction',
      fraction,
      [[0, 0], [0.3, 0.3], [1, 1], [2, 0.02], [50, 0.5], [100, 1], ...Object.entries(texts)],
      [-0.1, 1.5, 1.0001, 1.99, 100.1, 1e9, '', ' 1', '5 %', ...words`1.5 101% -1 0x1 1e-1 % half`],
      'must be a fraction from 0 to 1',
    ],
    [
      'measure',
      measure,
      [[4, 4], [1000, 1000], ...Object.entries(lengths)],
      [
        ...[3, 1001, 2.5, '', ' 5', '5 %', 'auto '],
        ...words`3 2.5 -5 +5 1e2 % -1% 100.1% 1e1% 0.0000001% ٢٠ automatic`,
      ],
      'must be',
    ],
  ] as [string, JsonSchema, [unknown, unknown][], unknown[], string][]) {
    it(`accept and refuse values: ${keyword}`, () => {
      for (const [value, normal] of right) expect(normalise(schema, value), String(value)).to.equal(normal);
      for (const value of wrong) expect(normalise(schema, value), String(value)).to.contain(problem);
    });
  }

  it('refuse a schema in which two choices share a spelling', () => {
    const shared = { type: 'string', choice: { a: [], b: ['A'] } };
    expect(() => normalise(shared, 'a')).to.throw('"a" is listed twice');
  });

  it('give a number in their bounds, their own forms or nothing, for anything', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer(), fc.string(), fc.anything()), (value) => {
        const part = parseFraction(value);
        if (part !== undefined) expect(part).to.be.within(0, 1);
        const length = parseMeasure(value, bounds);
        if (typeof length === 'number') expect(length).to.be.within(4, 1000).and.satisfy(Number.isInteger);
        else if (length?.endsWith('%')) expect(Number(length.slice(0, -1))).to.be.within(0, 100);
        else expect(length).to.be.oneOf(['auto', undefined]);
      }),
    );
  });

  it('leave normal forms of a measure as they are', () => {
    const percent = fc
      .tuple(fc.integer({ min: 0, max: 99 }), fc.nat(999_999), fc.integer({ min: 0, max: 6 }))
      .map(([whole, part, most]) => `${whole}.${String(part).padStart(6, '0').slice(0, most)}0%`);
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 4, max: 1000 }).map(String), percent), (text) => {
        const normal = parseMeasure(text.replace(/(\.\d{6})\d+%/, '$1%'), bounds);
        expect(normal).not.to.equal(undefined);
        expect(parseMeasure(normal, bounds)).to.equal(normal);
        expect(parseFloat(String(normal))).to.be.closeTo(parseFloat(text), 1e-9);
      }),
    );
  });
});

describe('keyword future', () => {
  const now = Date.UTC(2030, 0, 1);
  const ajv = createAdminVocabulary({ knownScopes: () => [], now: () => now });
  const fields = compileFields(ajv, { properties: { at: { type: 'string', future: true } } });
  const problem = (at: unknown) => fields.check({ at }).problems[0]?.problem;

  it('reads days, and times with an offset, or none for never', () => {
    for (const [text, time] of Object.entries({
      '2030-01-31': Date.UTC(2030, 0, 31),
      '2030-01-31T18:00Z': Date.UTC(2030, 0, 31, 18),
      '2030-01-31T18:00:30.250Z': Date.UTC(2030, 0, 31, 18, 0, 30, 250),
      '2030-01-31T18:00:30.250999+00:00': Date.UTC(2030, 0, 31, 18, 0, 30, 250),
      '2030-01-31T18:00:00+02:00': Date.UTC(2030, 0, 31, 16),
      '2030-01-31T18:00:00-0530': Date.UTC(2030, 0, 31, 23, 30),
      '2032-02-29': Date.UTC(2032, 1, 29),
    })) {
      expect(parseTime(text), text).to.equal(time);
      expect(problem(text), text).to.equal(undefined);
    }
    expect(problem(undefined)).to.equal(undefined);
  });

  it('refuses what has passed and everything else, and says what it accepts', () => {
    const texts = words`tomorrow 31.01.2030 2030-02-30 2030-13-01 2030 2030-01-31T25:00Z 2030-01-31T18:00`;
    for (const value of [...texts, '', ' 2030-01-31', 1900000000000, {}])
      expect(problem(value), String(value)).to.include('ISO 8601');
    expect(problem('2030-01-31T18:00:00')).to.include('Z or an offset');
    expect(problem('2030-01-01')).to.include('passed');
  });
});
