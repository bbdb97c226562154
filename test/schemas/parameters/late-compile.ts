import { expect } from 'chai';
import fc from 'fast-check';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

export function lateCompileTests(numRuns: number): void {
  describe('a schema that is compiled when it is first needed', () => {
    const types = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];
    const values: Record<string, unknown[]> = {
      type: ['text', ['string'], 1],
      description: ['x', 1],
      const: [1, 'a', null],
      minLength: [1, -1, 'a'],
      maxLength: [3, 1.5],
      minimum: [1, '1'],
      exclusiveMaximum: [4, true],
      multipleOf: [2, 0],
      items: [true, [], [{ type: 'string' }]],
      maxItems: [2, null],
      uniqueItems: [true, 1],
      required: [['a'], ['a', 'a'], 'a'],
      additionalProperties: [true, false, 0],
      maxProperties: [1, '1'],
      default: [1],
      pattern: ['^a', '('],
      format: ['date'],
      enum: [[], [1]],
      colour: [true],
    };
    const { schema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => {
      const simple = fc
        .constantFrom(...Object.keys(values))
        .chain((keyword) => fc.tuple(fc.constant(keyword), fc.constantFrom(...(values[keyword] ?? []))));
      const names = fc.constantFrom('a', 'b', '__proto__', 'toString');
      const nested = fc.oneof(
        fc.tuple(fc.constant('items'), tie('schema')),
        fc.tuple(fc.constant('additionalProperties'), tie('schema')),
        fc.tuple(fc.constant('properties'), fc.dictionary(names, tie('schema'), { maxKeys: 2 })),
      );
      const keywords = fc.array(fc.oneof(simple, nested), { maxLength: 2 });
      return {
        schema: fc
          .tuple(fc.constantFrom(...types), keywords)
          .map(([type, entries]) => ({ type, ...Object.fromEntries(entries) })),
      };
    });

    it('has no fault then that a start has not found', () => {
      let plain = 0;
      const part = fc.record({ a: schema });
      fc.assert(
        fc.property(part, (properties) => {
          const ajv = createVocabulary();
          const compile = () => compileParameters(ajv, { input: { type: 'object', properties } });
          let checked: ReturnType<typeof compile>;
          try {
            checked = compile();
          } catch {
            return;
          }
          plain += 1;
          checked.prepare();
        }),
        { numRuns },
      );
      expect(plain).to.be.greaterThan(numRuns / 10);
    });
  });
}
