import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';

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
    it(`is told what is allowed, ${what}`, () => {
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
