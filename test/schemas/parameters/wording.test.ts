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
});
