import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';

const number = { type: 'integer' };
const real = { dryrun: false };

function problems(input: JsonSchema, given: Record<string, unknown>): string[] {
  const { check } = compileParameters(createVocabulary(), { input: { type: 'object', ...input } });
  return check(given, real).problems.map(({ field, problem }) => `${field} ${problem}`);
}

describe('what is told of rules for a whole object', () => {
  const pair = { a: number, b: number };
  const both = { required: ['a', 'b'], properties: { a: true, b: true } };
  const tooFew = 'must have at least 2 of its fields, but has 1';

  for (const [what, rule, given, problem] of [
    ['names that may not be together', { not: both }, { a: 1, b: 2 }, 'must not have a and b together'],
    [
      'a name that may not be',
      { not: { required: ['b'], properties: { b: true } } },
      { b: 2 },
      'must not have b',
    ],
    [
      'a rule that is hard to put in words',
      { not: { properties: { a: { const: 1 } }, required: ['a'] } },
      { a: 1 },
      'is a combination that is not allowed',
    ],
    ['too few names', { minProperties: 2 }, { a: 1 }, tooFew],
  ] as [string, JsonSchema, Record<string, unknown>, string][]) {
    it(`says of ${what} which they are, outside and inside of a parameter`, () => {
      expect(problems({ properties: pair, ...rule }, given)).to.deep.equal([`* ${problem}`]);
      const inner = { type: 'object', properties: pair, ...rule };
      expect(problems({ properties: { o: inner } }, { o: given })).to.deep.equal([`o ${problem}`]);
    });
  }
});

describe('hints', () => {
  it('are looked for as long as that is cheap', () => {
    const names = Array.from({ length: 2000 }, (_, at) => `value-number-${at}`);
    const input = { properties: { list: { type: 'array', items: { type: 'string', enum: names } } } };
    const told = problems(input, { list: Array.from({ length: 50 }, (_, at) => `value-numbr-${at}`) });
    expect(told).to.have.length(50);
    expect(told.filter((problem) => problem.includes('did you mean'))).to.have.length(3);
    expect(told.join('').length).to.be.below(150_000);
  });

  it('stand in the place of dozens of values, wherever in the input these are', () => {
    const values = Array.from({ length: 60 }, (_, at) => `value-${at}`);
    const choice = Object.fromEntries(values.map((value) => [value, []]));
    const some = 'one of value-0, value-1, value-2, value-3, value-4 and 55 more';
    const given = (property: JsonSchema, value: unknown) =>
      problems({ required: ['a'], properties: { a: property } }, value === undefined ? {} : { a: value });
    for (const property of [{ enum: values }, { type: 'string', choice }] as JsonSchema[]) {
      expect(given(property, 'value59')).to.deep.equal([
        `a must be ${some}, but is the string "value59"; did you mean "value-59"?`,
      ]);
    }
    const property = { type: 'string', enum: values };
    expect(given(property, 7)).to.deep.equal([`a must be ${some}, but is the number 7`]);
    expect(given(property, null)).to.deep.equal([`a must be ${some}, but is null`]);
    expect(given(property, undefined)).to.deep.equal([`a is required: ${some}`]);
    expect(given({ type: 'array', items: property }, ['x'])).to.deep.equal([
      `a.0 must be ${some}, but is the string "x"`,
    ]);
  });

  it('are not needed where a person sees all values', () => {
    const values = Array.from({ length: 12 }, (_, at) => `v${at}`);
    expect(problems({ properties: { a: { enum: values } } }, { a: 'x' })).to.deep.equal([
      `a must be one of ${values.join(', ')}, but is the string "x"`,
    ]);
  });
});
