import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { liftRequired } from '../../../schemas/parameters/rewrite.js';
import { ownCpuMs } from '../../bench/measure.js';
import { checkerOf, problemsOf } from '../checker.js';

describe('nested objects', () => {
  const text = { type: 'string', maxLength: 10 };
  const size = { type: 'object', properties: { width: { type: 'integer' }, unit: text } };
  const unknown = (path: string, meant?: string) => [
    `v.${path} is not known here${meant ? `; did you mean "${meant}"?` : ''}`,
  ];
  const open = { type: 'object', additionalProperties: true };
  const ofSizes = { type: 'array', items: { type: 'object', properties: { inner: size } } };
  const tuple = { type: 'array', items: [size], additionalItems: false, minItems: 1, maxItems: 2 };
  const toBase = { $ref: '#/definitions/base' };
  const both = { type: 'object', properties: { age: { type: 'integer' } }, allOf: [toBase, size] };
  const openBoth = { ...both, allOf: [toBase, { ...size, additionalProperties: true }] };
  const children = { type: 'array', items: { $ref: '#/definitions/tree' } };
  const definitions = {
    base: { type: 'object', properties: { name: text } },
    tree: { type: 'object', properties: { name: text, children } },
  };
  const alternatives = ['a', 'b'].map((name) => ({ properties: { [name]: text }, required: [name] }));
  const around = { type: 'object', properties: { id: text }, oneOf: alternatives };
  const separate = { oneOf: [size, { type: 'object', properties: { text } }] };

  for (const [what, schema, value, problems = []] of [
    ['accept what they declare', size, { width: 1, unit: 'px' }],
    ['accept no undeclared name', size, { widht: 1 }, unknown('widht', 'width')],
    ['nor any below', ofSizes, [{}, { inner: { widht: 1 } }], unknown('1.inner.widht', 'width')],
    ['stay open where they say so', { ...size, ...open }, { x: 'a' }],
    ['stay open to a form', { ...size, additionalProperties: text }, { x: 'a' }],
    ['stay open to a pattern', { ...size, patternProperties: { '^x$': text } }, { x: 'a' }],
    ['stay open where they declare nothing', { type: 'object' }, { x: 'a' }],
    [
      'are closed in open ones',
      { ...open, properties: { size } },
      { x: 1, size: { x: 1 } },
      unknown('size.x'),
    ],
    ['are closed in a map', { ...open, additionalProperties: size }, { a: { x: 1 } }, unknown('a.x')],
    ['know what allOf and a reference declare', both, { name: 'a', age: 1, width: 1 }],
    ['know no more', both, { name: 'a', agee: 1 }, unknown('agee', 'age')],
    ['stay open where a part of allOf says so', openBoth, { x: 1 }],
    ['are closed behind a reference', toBase, { nam: 'a' }, unknown('nam', 'name')],
    [
      'that refer to themselves are closed on every level',
      { $ref: '#/definitions/tree' },
      { name: 'a', children: [{ name: 'b', children: [{ nam: 'c' }] }] },
      unknown('children.0.children.0.nam', 'name'),
    ],
    ['know beside an alternative what is around it', around, { id: 'x', a: 'y' }],
    ['know it beside another', around, { id: 'x', b: 'y' }],
    ['are closed for each alternative', around, { id: 'x', a: 'y', c: 'z' }, unknown('c')],
    ['accept separate alternatives', separate, { width: 1 }],
    ['are closed for each of these', separate, { widht: 1 }, unknown('widht', 'width')],
    ['stay open for an open alternative', { anyOf: [size, { type: 'object' }] }, { anything: 1 }],
  ] as [string, JsonSchema, unknown, string[]?][]) {
    it(what, () => expect(problemsOf(value, schema, definitions)).to.deep.equal(problems));
  }

  it('accept no undeclared name in a tuple', () => {
    expect(problemsOf([{ x: 1 }, { y: 1 }], tuple)).to.have.length(2);
  });

  it('leave conditions as they were', () => {
    const v = {
      type: 'object',
      properties: { a: text, b: text },
      if: { properties: { a: { const: 'x' } }, required: ['a'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['b'] },
    };
    expect(problemsOf({ a: 'x' }, v)).to.deep.equal(['v.b is required']);
    expect(problemsOf({ a: 'x', b: 'y' }, v)).to.deep.equal([]);
    const definitions = { hasA: { type: 'object', properties: { a: text }, required: ['a'] } };
    const not = { ...v, if: { $ref: '#/definitions/hasA' } };
    expect(problemsOf({ a: 'q' }, not, definitions)).to.deep.equal(['v.b is required']);
    expect(problemsOf({ a: 'x', b: 'y' }, { ...size, not: { $ref: '#/definitions/hasA' } }, definitions)[0])
      .to.not.be.empty;
  });
});

describe('liftRequired', () => {
  it('lifts demands at the top and in alternatives, and changes nothing else', () => {
    const schema = {
      type: 'object',
      required: ['a'],
      minProperties: 1,
      properties: { a: { type: 'object', required: ['b'] } },
      allOf: [{ required: ['a'], not: { required: ['b'] } }],
      not: { required: ['z'] },
    };
    const before = structuredClone(schema);
    expect(liftRequired(schema)).to.deep.equal({
      type: 'object',
      properties: { a: { type: 'object', required: ['b'] } },
      allOf: [{ not: { required: ['b'] } }],
      not: { required: ['z'] },
    });
    expect(schema).to.deep.equal(before);
  });

  it('makes at least one of exactly one, for without demands all may fit', () => {
    const known = { properties: { a: {} } };
    const lifted = liftRequired({ oneOf: [{ required: ['a'], ...known }, { required: ['b'] }] });
    expect(lifted).to.deep.equal({ allOf: [{ anyOf: [known, {}] }] });
  });

  it('leaves no alternatives that only demanded', () => {
    const alternatives = [{ required: ['a'] }, { minProperties: 1 }];
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const lifted = liftRequired({ type: 'object', [keyword]: alternatives });
      expect(lifted, keyword).to.deep.equal({ type: 'object' });
    }
  });
});

describe('alternatives', () => {
  const number = { type: 'number', maximum: 100 };
  const circle = {
    type: 'object',
    properties: { kind: { const: 'circle' }, r: number, color: { type: 'string', color: true } },
    required: ['kind', 'r'],
  };
  const square = {
    type: 'object',
    properties: { kind: { enum: ['square', 'box'] }, side: number, color: { type: 'string' } },
    required: ['kind', 'side'],
  };

  const kinds = 'one of circle, square, box';
  const isText = 'must be a number of at most 100, but is the string "x"';
  const references = [{ $ref: '#/definitions/circle' }, { $ref: '#/definitions/square' }];
  const kindAlone = { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] };
  const withNumber = (shape: typeof circle | typeof square, at: number) => ({
    ...shape,
    properties: { ...shape.properties, at: { const: at } },
    required: [...shape.required, 'at'],
  });

  for (const [what, shape, definitions] of [
    ['oneOf', { oneOf: [circle, square] }, {}],
    ['anyOf', { anyOf: [circle, square] }, {}],
    ['oneOf of references', { oneOf: references }, { circle, square }],
    ['oneOf under an object', { ...kindAlone, oneOf: [circle, square] }, {}],
    ['a reference to oneOf', { $ref: '#/definitions/shape' }, { shape: { oneOf: [circle, square] } }],
    ['oneOf whose tags are numbers', { oneOf: [circle, square].map(withNumber) }, {}],
  ] as [string, JsonSchema, Record<string, JsonSchema>][]) {
    const numbered = what.includes('numbers');
    const tagged = (value: object, at: number) => (numbered ? { ...value, at } : value);

    it(`that a property distinguishes are validated by the one that is meant, and named where none is: ${what}`, () => {
      const problems = (value: object, at: number) => problemsOf(tagged(value, at), shape, definitions);
      expect(problems({ kind: 'circle', r: 1 }, 0)).to.deep.equal([]);
      expect(problems({ kind: 'box', side: 1 }, 1)).to.deep.equal([]);
      expect(problems({ kind: 'circle' }, 0)).to.deep.equal(['v.r is required: a number of at most 100']);
      expect(problems({ kind: 'square', side: 'x', r: 1 }, 1)).to.have.members([
        `v.side ${isText}`,
        'v.r is not known here',
      ]);
      const wrong = { kind: 'circel', ...(numbered && { at: 7 }), r: 1 };
      const unknown = problemsOf(wrong, shape, definitions);
      const [missing] = problemsOf({ r: 1 }, shape, definitions);
      if (numbered) expect(unknown[0]).to.match(/^v\.(kind|at) must be one of/);
      else {
        expect(unknown).to.deep.equal([`v.kind must be ${kinds}, but is the string "circel"`]);
        expect(missing).to.equal(`v.kind is required: ${kinds}`);
      }
      const [problem] = problemsOf('circle', shape, definitions);
      expect(problem).to.match(/^v must be an object.*, but is the string "circle"$/);
    });
  }

  it('leave a value alone that is meant for another', () => {
    const value = { kind: 'square', side: 1, color: 'red' };
    const { check } = checkerOf({ properties: { v: { oneOf: [circle, square] } } });
    expect(check({ v: value }).input.v).to.deep.equal(value);
  });

  const point = { type: 'object', properties: { x: number, y: number }, required: ['x', 'y'] };
  const named = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
  const untagged = { oneOf: [point, named] };
  const ofTypes = { oneOf: [circle, { type: 'array', items: number }, { type: 'string', maxLength: 3 }] };
  const both = 'v must be an object with x and y or an object with place, but';
  for (const [what, shape, value, problem] of [
    ['described where nothing distinguishes them', untagged, {}, `${both} fits none of these`],
    ['validated by the likeliest of these', untagged, { x: 1, y: 2, z: 3 }, 'v.z is not known here'],
    ['described for another type', untagged, [], `${both} is an empty list`],
    ['validated by the one of the type that was sent', ofTypes, [1, 'x'], `v.1 ${isText}`],
    ['so for an object', ofTypes, { kind: 'circle' }, 'v.r is required: a number of at most 100'],
    [
      'all named where two fit and one may',
      { oneOf: [5, 9].map((maximum) => ({ type: 'number', maximum })) },
      1,
      'v must be only one of: a number of at most 5 or a number of at most 9',
    ],
  ] as [string, JsonSchema, unknown, string][]) {
    it(`are ${what}`, () => expect(problemsOf(value, shape)).to.deep.equal([problem]));
  }

  it('are named for a text that is too long', () => {
    expect(problemsOf('long', ofTypes)[0]).to.match(/^v must be .* a string of at most 3 characters, but is/);
  });

  it('never say that a value must be what it is', () => {
    const two = { type: 'object', minProperties: 2 };
    const contains = { type: 'array', contains: { const: 1 } };
    const oneOf = [two, { type: 'object', required: ['a'] }];
    const anyOf = [{ type: 'array', minItems: 2 }, contains];
    const short = { type: 'object', propertyNames: { maxLength: 1 } };
    for (const shape of [two, contains, { oneOf }, { anyOf }, short]) {
      for (const problem of [...problemsOf({ bb: 1 }, shape), ...problemsOf([2], shape)]) {
        expect(problem).not.to.match(/must be (an object|a list)[^,]*, but is \1/);
      }
    }
  });

  it('of thousands of items are validated in a moment', () => {
    const list = { type: 'array', items: { oneOf: [circle, square] } };
    const begun = ownCpuMs();
    const value = Array.from({ length: 4000 }, () => ({ kind: 'box' }));
    expect(problemsOf(value, list)).to.have.length(4000);
    expect(ownCpuMs() - begun).to.be.below(1000);
  });
});
