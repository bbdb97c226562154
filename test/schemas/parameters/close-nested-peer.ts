import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

/** Compares with what JSON Schema 2019-09 says with `unevaluatedProperties`, as ajv has it, for compositions without alternatives. */
export function closeNestedPeerTests(numRuns: number): void {
  describe('closing nested objects, beside unevaluatedProperties', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const leaf = fc.constantFrom<JsonSchema>({ type: 'integer' }, { type: 'string', maxLength: 3 });
    const own = fc.record({
      properties: fc.dictionary(name, leaf, { maxKeys: 2 }),
      open: fc.constantFrom(undefined, undefined, undefined, true),
      ref: fc.constantFrom(undefined, 'one', 'two'),
    });
    type Own = { properties: Record<string, JsonSchema>; open: true | undefined; ref: string | undefined };
    const plain = ({ properties, open, ref }: Own): JsonSchema => ({
      type: 'object',
      properties,
      ...(open ? { additionalProperties: true } : {}),
      ...(ref ? { $ref: `#/definitions/${ref}` } : {}),
    });
    const withoutRef = (each: Own) => plain({ ...each, ref: undefined });
    // One of each for all schemas: making them costs more than validation.
    const vocabulary = createVocabulary();
    const peer = new Ajv2019({ strict: false });

    it('refuses and accepts the same', () => {
      fc.assert(
        fc.property(
          own,
          fc.array(own, { maxLength: 2 }),
          fc.tuple(own, own),
          fc.array(
            fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom(1, 'x'), { maxKeys: 3 }),
            {
              minLength: 10,
              maxLength: 20,
            },
          ),
          (top, parts, [one, two], values) => {
            const definitions = { one: withoutRef(one), two: plain({ ...two, ref: two.ref && 'one' }) };
            const v = { ...plain(top), ...(parts.length > 0 ? { allOf: parts.map(plain) } : {}) };
            const ours = compileParameters(vocabulary, {
              input: { type: 'object', properties: { v }, definitions },
            });
            const theirs = peer.compile({
              type: 'object',
              properties: { v: { ...v, unevaluatedProperties: false } },
              definitions,
            });
            for (const value of values) {
              const { problems } = ours.check({ v: value }, { dryrun: false });
              expect(problems.length === 0, JSON.stringify(value)).to.equal(theirs({ v: value }));
            }
          },
        ),
        { numRuns },
      );
    });
  });
}
