import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

/** Compares with what JSON Schema 2019-09 says with `unevaluatedProperties`, as ajv has it, for compositions without alternatives. */
export function closeNestedPeerTests(numRuns: number): void {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const leaf = fc.constantFrom<JsonSchema>({ type: 'integer' }, { type: 'string', maxLength: 3 });
  const own = fc.record({
    properties: fc.dictionary(name, leaf, { maxKeys: 2 }),
    open: fc.constantFrom(undefined, undefined, undefined, true),
    ref: fc.constantFrom(undefined, 'one', 'two'),
  });
  type Own = typeof own extends fc.Arbitrary<infer T> ? T : never;
  const plain = ({ properties, open, ref }: Own): JsonSchema => ({
    type: 'object',
    properties,
    ...(open ? { additionalProperties: true } : {}),
    ...(ref ? { $ref: `#/definitions/${ref}` } : {}),
  });
  const value = fc.dictionary(fc.constantFrom(...'abcde'), fc.constantFrom(1, 'x'), { maxKeys: 3 });
  const values = fc.array(value, { minLength: 10, maxLength: 20 });
  // One of each for all schemas: making them costs more than validation.
  const vocabulary = createVocabulary();
  const peer = new Ajv2019({ strict: false });

  it('nested objects are closed as unevaluatedProperties closes them', () => {
    const parts = fc.array(own, { maxLength: 2 });
    fc.assert(
      fc.property(own, parts, own, own, values, (top, parts, one, two, values) => {
        const definitions = {
          one: plain({ ...one, ref: undefined }),
          two: plain({ ...two, ref: two.ref && 'one' }),
        };
        const v = { ...plain(top), ...(parts.length > 0 ? { allOf: parts.map(plain) } : {}) };
        const input = { type: 'object', properties: { v }, definitions };
        const ours = compileParameters(vocabulary, { input });
        const theirs = peer.compile({ ...input, properties: { v: { ...v, unevaluatedProperties: false } } });
        for (const value of values) {
          const { problems } = ours.check({ v: value }, { dryrun: false });
          expect(problems.length === 0, JSON.stringify(value)).to.equal(theirs({ v: value }));
        }
      }),
      { numRuns },
    );
  });
}

/** A schema that is compiled when it is first needed has no fault then that a start has not found. */
export function lateCompileTests(numRuns: number): void {
  const types = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];
  const values: Record<string, unknown[]> = {
    ...{ type: ['text', ['string'], 1], description: ['x', 1], const: [1, 'a', null], enum: [[], [1]] },
    ...{ minLength: [1, -1, 'a'], maxLength: [3, 1.5], pattern: ['^a', '('], format: ['date'] },
    ...{ minimum: [1, '1'], exclusiveMaximum: [4, true], multipleOf: [2, 0], default: [1], colour: [true] },
    ...{ items: [true, [], [{ type: 'string' }]], maxItems: [2, null], uniqueItems: [true, 1] },
    ...{
      required: [['a'], ['a', 'a'], 'a'],
      additionalProperties: [true, false, 0],
      maxProperties: [1, '1'],
    },
  };
  const simple = fc.constantFrom(
    ...Object.entries(values).flatMap(([keyword, all]) => all.map((value) => [keyword, value] as const)),
  );
  const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => {
    const names = fc.constantFrom('a', 'b', '__proto__', 'toString');
    const nested = fc.oneof(
      fc.tuple(fc.constantFrom('items', 'additionalProperties'), tie('schema')),
      fc.tuple(fc.constant('properties'), fc.dictionary(names, tie('schema'), { maxKeys: 2 })),
    );
    const keywords = fc.array(fc.oneof(simple, nested), { maxLength: 2 });
    return {
      schema: fc
        .tuple(fc.constantFrom(...types), keywords)
        .map(([type, entries]) => ({ type, ...Object.fromEntries(entries) })),
    };
  });

  it('a schema that is compiled when it is first needed has no fault then that a start has not found', () => {
    let plain = 0;
    fc.assert(
      fc.property(fc.record({ a: schema }), (properties) => {
        let checked: ReturnType<typeof compileParameters>;
        try {
          checked = compileParameters(createVocabulary(), { input: { type: 'object', properties } });
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
}
