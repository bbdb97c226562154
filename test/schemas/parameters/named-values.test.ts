import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { copyJson } from '../../../schemas/parameters/coerce.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

function problemOf(value: unknown, most?: number): string {
  const copied = copyJson(value, most);
  return 'value' in copied ? 'none' : copied.problem;
}

describe('copyJson', () => {
  it('gives an equal value that shares nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        const copied = copyJson(value);
        if (!text.includes('__proto__')) expect(copied).to.deep.equal({ value });
        if ('value' in copied && typeof value === 'object' && value !== null)
          expect(copied.value).not.to.equal(value);
      }),
    );
  });

  it('refuses what is nested so deep that validating it could end the process', () => {
    expect(problemOf(nested(32))).to.equal('none');
    expect(problemOf(nested(33))).to.contain('32 levels');
    expect(problemOf(nested(100_000))).to.contain('32 levels');
  });

  it('refuses more elements than 10,000, or than the schema says', () => {
    const many = Array.from({ length: 10_001 }, () => '');
    expect(problemOf(many)).to.equal('has more than 10000 elements');
    expect(problemOf({ a: many.slice(0, 9999), b: [1] })).to.equal('has more than 10000 elements');
    expect(problemOf(many, 20_000)).to.equal('none');
  });

  it('refuses a key __proto__ at any depth', () => {
    expect(problemOf(JSON.parse('{"a":[{"__proto__":{"polluted":1}}]}'))).to.contain('__proto__');
  });
});

const circle = { type: 'object', properties: { kind: { const: 'circle' } }, required: ['kind', 'r'] };
const square = { type: 'object', properties: { kind: { const: 'square' } }, required: ['kind', 'side'] };

describe('a parameter that is null', () => {
  for (const [what, schema, problem] of [
    ['where it may be', { type: ['integer', 'null'] }, 'must not be null; leave it out instead'],
    [
      'where an alternative is null',
      { anyOf: [{ $ref: '#/definitions/empty' }, { type: 'integer' }] },
      'must not be null; leave it out instead',
    ],
    ['behind a reference', { $ref: '#/definitions/size' }, 'must be an integer from 1 to 9, but is null'],
    [
      'of alternatives with a tag',
      { oneOf: [circle, square] },
      'must be an object with kind circle or square, but is null',
    ],
  ] as [string, JsonSchema, string][]) {
    it(`names what is allowed, ${what}`, () => {
      const definitions = { size: { type: 'integer', minimum: 1, maximum: 9 }, empty: { type: 'null' } };
      const input = { type: 'object', definitions, properties: { a: schema } };
      const { problems } = compileParameters(createVocabulary(), { input }).check(
        { a: null },
        { dryrun: false },
      );
      expect(problems).to.deep.equal([{ field: 'a', problem }]);
    });
  }
});
