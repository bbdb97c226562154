import { expect } from 'chai';
import { compileParameters } from '../../../schemas/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';

const real = { dryrun: false };
const dry = { dryrun: true };

describe('schemas with alternatives', () => {
  const one = { type: 'string' };
  const branches = [{ required: ['a'] }, { required: ['b'] }];

  for (const keyword of ['anyOf', 'oneOf']) {
    it(`name the parameters that ${keyword} asks for, and ask for none in a dry run`, () => {
      const { check } = compileParameters(createVocabulary(), {
        input: { type: 'object', properties: { a: one, b: one }, [keyword]: branches },
      });
      expect(check({}, real).problems).to.deep.equal([
        { field: 'a', problem: 'is required, or in its place b' },
      ]);
      expect(check({ b: 'x' }, real).problems).to.deep.equal([]);
      expect(check({}, dry).problems).to.deep.equal([]);
    });
  }

  it('are one problem of one parameter', () => {
    const { check } = compileParameters(createVocabulary(), {
      input: {
        type: 'object',
        properties: { a: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'boolean' }] } },
      },
    });
    expect(check({ a: 'x' }, real).problems).to.deep.equal([
      { field: 'a', problem: 'must be an integer of at least 3 or true or false, but is the string "x"' },
    ]);
  });

  it('keep the conditions of if', () => {
    const { check } = compileParameters(createVocabulary(), {
      input: {
        type: 'object',
        properties: { a: one, b: one },
        if: { required: ['a'] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['b'] },
      },
    });
    expect(check({ a: 'x' }, real).problems).to.deep.equal([{ field: 'b', problem: 'is required' }]);
    expect(check({ a: 'x' }, dry).problems).to.deep.equal([]);
  });
});
