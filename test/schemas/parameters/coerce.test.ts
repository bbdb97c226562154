import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { createCoerce } from '../../../schemas/parameters/coerce.js';
import { anyCharacter, words } from '../../examples.js';
import { checkerOf } from '../checker.js';

describe('coercion of query and form values', () => {
  const read = (schema: JsonSchema, text: string, root: JsonSchema = {}) => createCoerce(schema, root)(text);
  const listOf = (type: string) => ({ type: 'array', items: { type } });

  it('reads decimal numbers, and leaves other texts to be refused', () => {
    const numbers = { '5': 5, '-5': -5, '1.5': 1.5, '1e3': 1000, '-0': 0, '007': 7 };
    for (const [text, value] of Object.entries(numbers)) {
      for (const type of ['number', 'integer']) expect(read({ type }, text)).to.equal(value);
    }
    const others = words`0x10 Infinity -Infinity NaN 1e999 1_000 1. .5 +5 ٣ null`;
    for (const text of [...others, '', ' 5', '5 ', '9'.repeat(500)]) {
      expect(read({ type: 'number' }, text)).to.equal(text);
    }
  });

  it('reads exactly true, 1, false and 0 as booleans, and leaves strings alone', () => {
    const booleans = { true: true, '1': true, false: false, '0': false };
    for (const [text, value] of Object.entries(booleans))
      expect(read({ type: 'boolean' }, text)).to.equal(value);
    for (const text of ['TRUE', 'yes', '', 'on', '01'])
      expect(read({ type: 'boolean' }, text)).to.equal(text);
    for (const text of ['', '5', 'true', 'a,b', '{}']) expect(read({ type: 'string' }, text)).to.equal(text);
  });

  for (const [what, schema, text, value] of [
    ['a list with commas', listOf('string'), 'a, b,c', ['a', 'b', 'c']],
    ['a list with an item that does not fit', listOf('integer'), '1,x', [1, 'x']],
    ['the empty list', listOf('string'), '', []],
    ['a list with an empty item', listOf('string'), 'a,,b', ['a', '', 'b']],
    ['an object as JSON', { type: 'object' }, '{"a":1}', { a: 1 }],
    ['JSON of another kind', { type: 'object' }, '[1]', [1]],
    ['text that is no JSON', { type: 'object' }, '{', '{'],
    ['a list of objects as JSON', listOf('object'), '[{"a":1}]', [{ a: 1 }]],
    ['an object in the place of a list', listOf('object'), '{"a":1}', { a: 1 }],
    ['a text of several types', { type: ['string', 'array'] }, 'a,b', 'a,b'],
    ['text for a fraction', { type: ['number', 'string'], fraction: true }, '50%', '50%'],
    ['a type of enum', { enum: [1, 2] }, '2', 2],
    ['a type of const', { const: true }, '1', true],
    ['a type of an alternative', { anyOf: [{ type: 'integer' }, { type: 'boolean' }] }, '7', 7],
    ['a type behind a reference', { $ref: '#/definitions/n' }, '7', 7],
    ['text where references never end', { $ref: '#/definitions/a' }, '7', '7'],
  ] as [string, JsonSchema, string, unknown][]) {
    it(`reads ${what}`, () => {
      const definitions = { n: { type: 'integer' }, a: { $ref: '#/definitions/a' } };
      expect(read(schema, text, { definitions })).to.deep.equal(value);
    });
  }

  it('tries number, boolean and string where several are declared', () => {
    const schema = { type: ['string', 'boolean', 'number'] };
    expect(['1', 'true', 'x'].map((text) => read(schema, text))).to.deep.equal([1, true, 'x']);
  });

  it('never throws', () => {
    const type = fc.constantFrom(...words`integer number boolean string array object null`);
    const [types, text] = [fc.uniqueArray(type, { minLength: 1 }), fc.string({ unit: anyCharacter })];
    const reads = (type: string[], text: string) => void read({ type, items: { type: type[0] } }, text);
    fc.assert(fc.property(types, text, reads));
  });
});

describe('a text for a parameter of several types', () => {
  const definitions = {
    point: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] },
    words: { type: 'array', items: { type: 'string', maxLength: 3 } },
  };

  const parametersOf = (v: JsonSchema) => checkerOf({ properties: { v }, definitions });

  /** What the handler gets for a text of a query, or `refused`. */
  function read(v: JsonSchema, text: string): unknown {
    const { coerce, check } = parametersOf(v);
    const { input, problems } = check({ v: coerce('v', text) });
    return problems.length > 0 ? 'refused' : input.v;
  }

  const object = { type: 'object', properties: { a: { type: 'integer' } } };
  const list = { type: 'array', items: { type: 'string' } };
  const numbers = { type: 'array', items: { type: 'integer' } };
  const booleans = { type: 'array', items: { type: 'boolean' } };

  for (const [what, schema, text, value] of [
    ['an object, not a list of its text', { oneOf: [object, list] }, '{"a":1}', { a: 1 }],
    ['a list as JSON', { oneOf: [object, list] }, '["a","b,c"]', ['a', 'b,c']],
    ['a list with commas', { oneOf: [object, list] }, 'a,b', ['a', 'b']],
    ['refused where the object does not fit', { oneOf: [object, list] }, '{"a":"x"}', 'refused'],
    ['refused where the object has an unknown name', { anyOf: [object, list] }, '{"b":1}', 'refused'],
    ['an object by one type of several', { type: ['object', 'array'] }, '{"b":1}', { b: 1 }],
    ['an object behind a reference', { oneOf: [{ $ref: '#/definitions/point' }, list] }, '{"x":1}', { x: 1 }],
    ['a list behind a reference', { anyOf: [{ $ref: '#/definitions/words' }, object] }, 'a,b', ['a', 'b']],
    ['a list as JSON where only lists are', list, '["a","b"]', ['a', 'b']],
    ['a list of what only begins as JSON', list, '[a],b', ['[a]', 'b']],
    ['refused where it is JSON that does not fit', list, '[1,2]', 'refused'],
    ['refused where it is an object and a list is wanted', list, '{"a":1}', 'refused'],
    ['refused where it is JSON that breaks off', { oneOf: [object, list] }, '{"a":1', 'refused'],
    ['refused where a list breaks off', list, '["a","b"', 'refused'],
    ['a number before a list', { oneOf: [{ type: 'integer' }, numbers] }, '5', 5],
    ['a list before a number that does not fit', { oneOf: [{ type: 'integer' }, numbers] }, '1,2', [1, 2]],
    ['the list whose items fit', { anyOf: [numbers, booleans] }, 'true,false', [true, false]],
    ['a word', { oneOf: [{ enum: ['all', 'none'] }, list] }, 'all', 'all'],
    ['a list of words', { oneOf: [{ enum: ['all', 'none'] }, list] }, 'all,none', ['all', 'none']],
    ['a string of digits where the number is not listed', { enum: ['1', 2] }, '1', '1'],
    ['a number of the list', { enum: ['1', 2] }, '2', 2],
    ['an object rather than its text', { type: ['string', 'object'] }, '{"a":1}', { a: 1 }],
    ['text that is no object', { type: ['string', 'object'] }, '{a}', '{a}'],
    ['text where the object does not fit', { anyOf: [object, { type: 'string' }] }, '{"a":"x"}', '{"a":"x"}'],
    ['a number by all of allOf', { allOf: [{ type: ['number', 'string'] }, { type: 'string' }] }, '5', '5'],
    ['no null', { type: ['integer', 'null'] }, 'null', 'refused'],
    ['a null in a list', { type: 'array', items: { type: ['integer', 'null'] } }, '[1,null]', [1, null]],
    ['its normal form', { anyOf: [{ type: 'string', color: true }, object] }, 'red', '#ff0000'],
    ['a fraction', { anyOf: [{ type: ['number', 'string'], fraction: true }, list] }, '50%', 0.5],
  ] as [string, JsonSchema, string, unknown][]) {
    it(`is ${what}: ${text}`, () => expect(read(schema, text)).to.deep.equal(value));
  }

  it('is described as what it is', () => {
    const { coerce, problems } = parametersOf({ oneOf: [object, list] });
    const problem = 'v.a must be an integer, but is the string "x"';
    expect(problems({ v: coerce('v', '{"a":"x"}') })).to.deep.equal([problem]);
  });

  const plain = fc.constantFrom<JsonSchema>(
    { type: 'integer', maximum: 100 },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'string', maxLength: 5 },
    { enum: ['a', 'b', 1, true] },
    { const: '1' },
    { type: 'string', choice: { png: [], jpg: ['jpeg'] } },
  );
  const structured = fc.constantFrom<JsonSchema>(
    object,
    { ...object, additionalProperties: true },
    { type: 'object', required: ['b'], properties: { b: { type: 'array', items: { type: 'boolean' } } } },
    list,
    numbers,
    { type: 'array', items: object },
    { type: 'array', items: { type: ['integer', 'string', 'null'] } },
    { $ref: '#/definitions/point' },
    { $ref: '#/definitions/words' },
  );
  const one = fc.oneof(plain, structured);
  const type = fc.constantFrom('integer', 'boolean', 'string', 'object', 'array', 'null');
  const schemas = fc.oneof(
    one,
    fc
      .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), fc.array(one, { minLength: 1, maxLength: 3 }))
      .map(([keyword, branches]): JsonSchema => ({ [keyword]: branches })),
    fc.uniqueArray(type, { minLength: 1 }).map((type): JsonSchema => ({ type })),
  );
  const scalar = fc.oneof(
    fc.integer({ min: -5, max: 200 }),
    // JSON has no -0.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.boolean(),
    fc.constantFrom('a', 'b', '1', 'true', 'png', 'JPEG', 'x y', '', '{', '[1', 'a,b'),
  );
  const member = fc.oneof(scalar, fc.array(fc.boolean()));
  const value = fc.oneof(
    scalar,
    fc.array(fc.oneof(scalar, fc.constant(null)), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'x', 'y'), member, { maxKeys: 3 }),
    fc.array(fc.record({ a: scalar }), { maxLength: 2 }),
  );

  // To compile a schema takes longer than to validate a dozen values by it.
  const values = fc.array(value, { minLength: 5, maxLength: 15 });
  const few = { numRuns: 80 };

  it('is the same as the value in JSON, or refused; but for texts it is accepted wherever that is', () => {
    fc.assert(
      fc.property(schemas, values, (schema, all) => {
        const { coerce, check } = parametersOf(schema);
        for (const sent of all) {
          const body = check({ v: sent });
          const query = check({ v: coerce('v', typeof sent === 'string' ? sent : JSON.stringify(sent)) });
          if (typeof sent !== 'string' && body.problems.length === 0)
            expect(query.problems).to.deep.equal([]);
          if (query.problems.length > 0) continue;
          const got = query.input.v;
          // A text may be read as a number, a boolean or a list where the schema takes one, and any text as text.
          const isRead = typeof sent === 'string' || typeof got === 'string';
          const isSwitch = typeof got === 'boolean' && typeof sent === 'number';
          if (isRead || isSwitch || (Array.isArray(got) && typeof sent !== 'object')) {
            expect(check({ v: got }).problems).to.deep.equal([]);
          } else expect(body).to.deep.equal({ input: query.input, problems: [] });
        }
      }),
      few,
    );
  }).timeout(30_000);
});
