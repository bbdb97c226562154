import { Ajv } from 'ajv';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { pictureOutput, pictureOutputRules } from '../../gateway/helper.js';
import { createComponents, createConverter } from '../../schemas/convert-schema.js';
import { closedObject, type JsonSchema } from '../../schemas/json-schema.js';
import { withDependencies } from '../../schemas/keywords/only-with.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import { words } from '../examples.js';
import { checkerOf } from './checker.js';

/** A schema and the targets of its references, as in a document. */
function converted(root: JsonSchema): JsonSchema {
  const components = createComponents('#/components/schemas');
  const schema = createConverter(root, 'it', components)(root);
  return { ...schema, components: { schemas: components.schemas } };
}

const ajv = new Ajv2020({ strict: false, ownProperties: true, addUsedSchema: false });

/** Validates by the converted schema, as 2020-12 says, without own keywords. */
function validateBy(root: JsonSchema): ValidateFunction {
  return ajv.compile(converted(root));
}

describe('a schema of draft-07 as one of 2020-12', () => {
  const items = [{ type: 'number' }, { type: 'string' }];
  const value = { items: [{ type: 'x' }], nullable: true, $ref: '#/x' };
  const data = { default: value, const: value };
  const tuple = { type: 'array', minItems: 2 };
  const [list, object] = [{ type: 'array', items: { type: 'number' } }, { type: 'object' }];
  const demand = { c: { required: ['d'] }, e: false };
  for (const [what, root, expected] of [
    [
      'has tuples as prefixItems',
      { ...tuple, items, additionalItems: false },
      { ...tuple, prefixItems: items, items: false },
    ],
    [
      'separates what depends on names and on schemas',
      { ...object, dependencies: { a: ['b'], ...demand } },
      { ...object, dependentRequired: { a: ['b'] }, dependentSchemas: demand },
    ],
    ['drops additionalItems beside one schema for all items', { ...list, additionalItems: false }, list],
    ['accepts null where nullable does', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['leaves data alone that looks like a schema', data, data],
  ] as [string, JsonSchema, JsonSchema][]) {
    it(what, () => {
      const { components: _, ...schema } = converted(root);
      expect(schema).to.deep.equal(expected);
    });
  }

  it('makes components of the targets of references, recursive ones too', () => {
    const next = { $ref: '#/definitions/a~1node' };
    const tree: JsonSchema = {
      $id: 'https://a.example/tree',
      definitions: { 'a/node': closedObject({ value: { type: 'number' }, next }, ['value', 'next']) },
      type: 'object',
      properties: { root: next },
    };
    const schema = converted(tree);
    expect(schema).to.have.nested.property('properties.root.$ref', '#/components/schemas/it.a_node');
    expect(JSON.stringify(schema)).not.to.match(/definitions|\$id/);
    const validate = validateBy(tree);
    expect(validate({ root: { value: 1, next: { next: { value: 2 } } } })).to.equal(true);
    expect(validate({ root: { next: { next: { value: 'x' } } } })).to.equal(false);
  });

  it('finds parts by any pointer, by an $id, and by one that is a fragment', () => {
    const definitions = { inner: { $ref: '#/definitions/text' }, text: { type: 'string' } };
    const validate = validateBy({
      type: 'object',
      properties: {
        size: { type: 'object', properties: { 'a%b': { type: 'integer' } } },
        same: { $ref: '#/properties/size/properties/a%25b' },
        named: { $ref: 'part.json#/definitions/inner' },
        marked: { $ref: '#mark' },
      },
      definitions: { part: { $id: 'part.json', definitions }, marked: { $id: '#mark', type: 'boolean' } },
    });
    expect(validate({ same: 1, named: 'x', marked: true })).to.equal(true);
    for (const wrong of [{ same: 'x' }, { named: 1 }, { marked: 1 }]) expect(validate(wrong)).to.equal(false);
  });

  it('distinguishes alternatives as OpenAPI does, each a component', () => {
    const shape = (kind: string, size: string) =>
      closedObject({ kind: { const: kind }, [size]: { type: 'number' } });
    const schema = { type: 'object', oneOf: [shape('circle', 'r'), shape('square', 'side')] };
    const { components: _, ...whole } = converted(schema);
    const circle = '#/components/schemas/it.kind.circle';
    const square = '#/components/schemas/it.kind.square';
    expect(whole).to.deep.equal({
      type: 'object',
      oneOf: [{ $ref: circle }, { $ref: square }],
      discriminator: { propertyName: 'kind', mapping: { circle, square } },
    });
    expect(validateBy(schema)({ kind: 'square', side: 1 })).to.equal(true);
    expect(validateBy(schema)({ kind: 'square', r: 1 })).to.equal(false);
  });
});

const measure = { minimum: 4, maximum: 90, percent: true, auto: true };
const few = { minimum: 0, maximum: 9 };
const named = ['Sea Green', 'Crème brûlée', 'Baker’s chocolate'];
const wrongColors = ['#ffff', 'rgb(1 2 3 / 50%)', 7];
const cases: [schema: JsonSchema, right: unknown[], wrong: unknown[]][] = [
  [
    { type: 'string', color: true, maxLength: 100 },
    ['#FFF', 'abc123', ' RGB(1, 2, 3) ', 'hsl(10deg 20% 30%)', ...named],
    [...wrongColors, '#12345678', ''],
  ],
  [{ type: 'string', color: { auto: true } }, ['auto', 'Auto', '#FFF', 'dark red'], wrongColors],
  [
    { type: 'string', choice: { png: [], jpg: ['jpeg'], 'a.b': [] } },
    words`png PNG Jpeg A.B`,
    [...words`gif pngs axb`, 1],
  ],
  [{ type: ['string', 'integer'], choice: { png: [] }, maximum: 5 }, ['png', 'PNG', 3], ['gif', 9, true]],
  [
    { type: ['number', 'string'], fraction: true },
    [0, 0.5, 1, 2, 100, '50%', '0.25', '100%', '007', '99.5'],
    [1.5, -1, 101, '150%', 'half', true],
  ],
  [{ type: ['integer', 'null'], fraction: true }, [0, 50, null], [0.5, '1', 101]],
  [{ type: 'string', drawable: true }, ['é'], [1]],
  [
    { type: ['integer', 'string'], measure, default: 'auto' },
    [4, 90, ...words`20 0020 0% 5.5% 007% 100.0% auto AUTO`],
    [3, 91, 4.5, '5 %', '', true, ...words`-5 100.1% 5.1234567% automatic 20px`],
  ],
  [{ type: ['integer', 'string'], measure: few }, [0, 9, '9'], [10, ...words`5% auto 1.5`]],
  [{ type: 'string', choice: { png: [], avif: [] }, encodable: true }, ['png', 'AVIF'], ['gif']],
  [{ type: 'string', color: true, pattern: '^#' }, ['#abc'], ['red', '#abcde']],
];

describe('the plugins’ own keywords in plain JSON Schema', () => {
  const ajv = createVocabulary();

  for (const [schema, right, wrong] of cases) {
    const inside = { type: 'object', properties: { value: schema } };
    it(`accept and refuse the same: ${JSON.stringify(schema)}`, () => {
      const [own, plain] = [ajv.compile(inside), validateBy(inside)];
      for (const value of [...right, ...wrong]) {
        const expected = right.includes(value);
        expect([own({ value }), plain({ value })], `${value}`).to.deep.equal([expected, expected]);
      }
    });
  }
});

const input: JsonSchema = {
  type: 'object',
  properties: {
    ...pictureOutput,
    wrap: { type: 'boolean', default: true },
    lines: { type: 'integer' },
    kind: { enum: ['a', 'b'] },
    border: { type: 'string', color: { auto: true } },
    depth: { type: 'integer' },
  },
  onlyWith: { ...pictureOutputRules, lines: { wrap: [true], kind: ['a'] }, depth: { border: ['auto'] } },
};

const calls = [
  { quality: 5 },
  ...['png', 'PNG', 'jpg', 'JPEG', 'same'].map((format) => ({ quality: 5, format })),
  { format: 'png' },
  { lines: 1 },
  { lines: 1, kind: 'a' },
  { lines: 1, kind: 'b' },
  ...[true, false].map((wrap) => ({ lines: 1, kind: 'a', wrap })),
  { depth: 1 },
  { depth: 1, border: 'Auto' },
  {},
];

describe('onlyWith', () => {
  for (const [what, schema] of Object.entries({
    alone: input,
    'beside dependencies of its own': { ...input, dependencies: { depth: ['border'] }, allOf: [{}] },
  })) {
    it(`accepts and refuses the same, ${what}`, () => {
      const { problems } = checkerOf(schema);
      const validate = validateBy(withDependencies(schema));
      for (const call of calls)
        expect(validate({ ...call }), JSON.stringify(call)).to.equal(problems(call).length === 0);
    });
  }

  it('leaves out what it has no words for', () => {
    const validate = validateBy(withDependencies(input));
    expect(validate({ depth: 1, border: 'red' })).to.equal(true);
    expect(withDependencies({ type: 'object', onlyWith: {} })).to.deep.equal({ type: 'object' });
  });
});

const name = fc.constantFrom('a', 'b', 'c');
const someNames = fc.uniqueArray(name, { maxLength: 2 });
const small = fc.integer({ min: 0, max: 3 });

/** Schemas of draft-07, small enough that values are often right. */
const { schema } = fc.letrec<{ schema: JsonSchema; part: JsonSchema | boolean }>((tie) => {
  const part = tie('part') as fc.Arbitrary<JsonSchema | boolean>;
  const parts = fc.dictionary(name, part, { maxKeys: 3 });
  const propertyNames = fc.constant({ maxLength: 1 });
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
      fc.record({ patternProperties: fc.record({ '^[ab]': part }), propertyNames }),
      fc.record({ dependencies: fc.dictionary(name, fc.oneof(someNames, part), { maxKeys: 2 }) }),
      fc.record({ required: someNames }),
      ...['anyOf', 'oneOf', 'allOf'].map((keyword) => fc.record({ [keyword]: lists })),
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

describe('any schema of draft-07', () => {
  it('accepts and refuses as 2020-12 what it did before', () => {
    const seen = { right: 0, wrong: 0 };
    const property = fc.property(whole, fc.array(value, { minLength: 3, maxLength: 6 }), (schema, values) => {
      const [before, after] = [draft07.compile(schema), validateBy(schema)];
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
