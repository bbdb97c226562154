import { Ajv } from 'ajv';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../../../schemas/json-schema.js';
import { judgeBy } from './convert.js';

const names = ['a', 'b', 'c'];
const name = fc.constantFrom(...names);
const small = fc.integer({ min: 0, max: 3 });

/** Schemas of draft-07, small enough that values are often right. */
const { schema } = fc.letrec<{ schema: JsonSchema; part: JsonSchema | boolean }>((tie) => {
  const part = tie('part') as fc.Arbitrary<JsonSchema | boolean>;
  const parts = fc.dictionary(name, part, { maxKeys: 3 });
  const lists = fc.array(part, { minLength: 1, maxLength: 2 });
  return {
    part: fc.oneof({ depthSize: 'small' }, fc.boolean(), tie('schema')),
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<JsonSchema>({}, { type: 'integer' }, { type: 'string' }, { type: ['null', 'boolean'] }),
      fc.record({ const: fc.constantFrom<unknown>(1, 'a', null, ['a']) }),
      fc.record({ type: fc.constant('integer'), minimum: small, exclusiveMaximum: small }),
      fc.record({ type: fc.constant('string'), nullable: fc.constant(true) }),
      fc.record({ items: lists, additionalItems: part }, { requiredKeys: ['items'] }),
      fc.record({ items: part, additionalItems: part, minItems: small }),
      fc.record({ contains: part }),
      fc.record({ properties: parts, additionalProperties: part }, { requiredKeys: ['properties'] }),
      fc.record({
        patternProperties: fc.record({ '^[ab]': part }),
        propertyNames: fc.constant({ maxLength: 1 }),
      }),
      fc.record({
        dependencies: fc.dictionary(name, fc.oneof(fc.uniqueArray(name, { maxLength: 2 }), part), {
          maxKeys: 2,
        }),
      }),
      fc.record({ required: fc.uniqueArray(name, { maxLength: 2 }) }),
      fc.record({ anyOf: lists }),
      fc.record({ oneOf: lists }),
      fc.record({ allOf: lists }),
      fc.record({ not: part }),
      // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
      fc.record({ if: part, then: part, else: part }),
      fc.record({ $ref: fc.constantFrom('#/definitions/list', '#/definitions/d') }),
    ),
  };
});

/** A list of such lists refers to itself; the other one is any schema that refers to nothing. */
const whole = fc.tuple(schema, schema).map(([top, d]) => ({
  ...top,
  definitions: {
    list: { type: 'array', items: { $ref: '#/definitions/list' } },
    d: JSON.parse(JSON.stringify(d).replaceAll('#/definitions/d', '#/definitions/list')),
  },
}));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(0, 1, 2.5, 'a', 'bb', null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
}));

const draft07 = new Ajv({ strict: false, ownProperties: true, addUsedSchema: false });

describe('docs/openapi: any schema of draft-07', () => {
  it('takes and refuses as 2020-12 what it did before', () => {
    const seen = { right: 0, wrong: 0 };
    const property = fc.property(whole, fc.array(value, { minLength: 3, maxLength: 6 }), (schema, values) => {
      const before = draft07.compile(schema);
      const after = judgeBy(schema);
      for (const each of values) {
        const expected = before(each);
        seen[expected ? 'right' : 'wrong'] += 1;
        expect(after(each), `${JSON.stringify(each)}`).to.equal(expected);
      }
    });
    fc.assert(property, { numRuns: 200 });
    expect(Math.min(seen.right, seen.wrong), 'each verdict').to.be.above(50);
  }).timeout(30_000);
});
