import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { liftRequired } from '../../../schemas/parameters/rewrite.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { ownCpuMs } from '../../bench/measure.js';

describe('nested objects', () => {
  const text = { type: 'string', maxLength: 10 };

  /** The problems of `value` as the one parameter `v` of this schema. */
  function problemsOf(value: unknown, v: JsonSchema, definitions: Record<string, JsonSchema> = {}): string[] {
    const input = { type: 'object', properties: { v }, definitions };
    const { check } = compileParameters(createVocabulary(), { input });
    return check({ v: value }, { dryrun: false }).problems.map(({ field, problem }) => `${field} ${problem}`);
  }

  const size = { type: 'object', properties: { width: { type: 'integer' }, unit: text } };

  it('accept no undeclared name, at any depth and in lists', () => {
    expect(problemsOf({ width: 1, unit: 'px' }, size)).to.deep.equal([]);
    expect(problemsOf({ widht: 1 }, size)).to.deep.equal([
      'v.widht is not known here; did you mean "width"?',
    ]);
    const list = { type: 'array', items: { type: 'object', properties: { inner: size } } };
    expect(problemsOf([{ inner: {} }, { inner: { widht: 1 } }], list)).to.deep.equal([
      'v.1.inner.widht is not known here; did you mean "width"?',
    ]);
    const tuple = { type: 'array', items: [size], additionalItems: size, minItems: 1 };
    expect(
      problemsOf([{ x: 1 }, { y: 1 }], { ...tuple, maxItems: 2, additionalItems: false }),
    ).to.have.length(2);
  });

  it('stay open where they say so, or declare nothing', () => {
    expect(problemsOf({ x: 1 }, { ...size, additionalProperties: true })).to.deep.equal([]);
    expect(problemsOf({ x: 'a' }, { ...size, additionalProperties: text })).to.deep.equal([]);
    expect(problemsOf({ x: 'a' }, { ...size, patternProperties: { '^x$': text } })).to.deep.equal([]);
    expect(problemsOf({ x: 1 }, { type: 'object' })).to.deep.equal([]);
  });

  it('are closed inside of open ones', () => {
    const open = { type: 'object', properties: { size }, additionalProperties: true };
    expect(problemsOf({ x: 1, size: { x: 1 } }, open)).to.deep.equal(['v.size.x is not known here']);
    expect(problemsOf({ a: { x: 1 } }, { type: 'object', additionalProperties: size })).to.deep.equal([
      'v.a.x is not known here',
    ]);
  });

  it('know what allOf and a reference beside it declare', () => {
    const base = { type: 'object', properties: { name: text } };
    const both = {
      type: 'object',
      properties: { age: { type: 'integer' } },
      allOf: [{ $ref: '#/definitions/base' }, size],
    };
    const definitions = { base };
    expect(problemsOf({ name: 'a', age: 1, width: 1 }, both, definitions)).to.deep.equal([]);
    expect(problemsOf({ name: 'a', agee: 1 }, both, definitions)).to.deep.equal([
      'v.agee is not known here; did you mean "age"?',
    ]);
    const open = {
      ...both,
      allOf: [{ $ref: '#/definitions/base' }, { ...size, additionalProperties: true }],
    };
    expect(problemsOf({ x: 1 }, open, definitions)).to.deep.equal([]);
    // The same definition, standing alone.
    expect(problemsOf({ nam: 'a' }, { $ref: '#/definitions/base' }, definitions)).to.deep.equal([
      'v.nam is not known here; did you mean "name"?',
    ]);
  });

  it('of definitions that refer to themselves are closed on every level', () => {
    const tree = {
      type: 'object',
      properties: { name: text, children: { type: 'array', items: { $ref: '#/definitions/tree' } } },
    };
    const value = { name: 'a', children: [{ name: 'b', children: [{ nam: 'c' }] }] };
    expect(problemsOf(value, { $ref: '#/definitions/tree' }, { tree })).to.deep.equal([
      'v.children.0.children.0.nam is not known here; did you mean "name"?',
    ]);
  });

  it('are closed for each alternative, which knows what is declared around it', () => {
    const v = {
      type: 'object',
      properties: { id: text },
      oneOf: [
        { properties: { a: text }, required: ['a'] },
        { properties: { b: text }, required: ['b'] },
      ],
    };
    expect(problemsOf({ id: 'x', a: 'y' }, v)).to.deep.equal([]);
    expect(problemsOf({ id: 'x', b: 'y' }, v)).to.deep.equal([]);
    expect(problemsOf({ id: 'x', a: 'y', c: 'z' }, v)).to.deep.equal(['v.c is not known here']);
    const separate = { oneOf: [size, { type: 'object', properties: { text } }] };
    expect(problemsOf({ width: 1 }, separate)).to.deep.equal([]);
    expect(problemsOf({ widht: 1 }, separate)[0]).to.match(/^v\.widht is not known here/);
    const loose = { anyOf: [size, { type: 'object' }] };
    expect(problemsOf({ anything: 1 }, loose)).to.deep.equal([]);
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

  it('turns exactly one into at least one, for without demands all may fit', () => {
    const known = { properties: { a: {} } };
    expect(liftRequired({ oneOf: [{ required: ['a'], ...known }, { required: ['b'] }] })).to.deep.equal({
      allOf: [{ anyOf: [known, {}] }],
    });
  });

  it('leaves no alternatives that only demanded', () => {
    const alternatives = [{ required: ['a'] }, { minProperties: 1 }];
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      expect(liftRequired({ type: 'object', [keyword]: alternatives }), keyword).to.deep.equal({
        type: 'object',
      });
    }
  });
});

describe('alternatives', () => {
  function check(shape: JsonSchema, value: unknown, definitions: Record<string, JsonSchema> = {}) {
    const input = { type: 'object', properties: { shape }, required: ['shape'], definitions };
    return compileParameters(createVocabulary(), { input }).check({ shape: value }, { dryrun: false });
  }

  function problemsOf(...args: Parameters<typeof check>): string[] {
    return check(...args).problems.map(({ field, problem }) => `${field} ${problem}`);
  }

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

    describe(`alternatives that a property distinguishes, as ${what},`, () => {
      it('are validated by the one that is meant', () => {
        const problems = (value: object, at: number) => problemsOf(shape, tagged(value, at), definitions);
        expect(problems({ kind: 'circle', r: 1 }, 0)).to.deep.equal([]);
        expect(problems({ kind: 'box', side: 1 }, 1)).to.deep.equal([]);
        expect(problems({ kind: 'circle' }, 0)).to.deep.equal([
          'shape.r is required: a number of at most 100',
        ]);
        expect(problems({ kind: 'square', side: 'x', r: 1 }, 1)).to.have.members([
          'shape.side must be a number of at most 100, but is the string "x"',
          'shape.r is not known here',
        ]);
      });

      it('are named where none is meant', () => {
        const [unknown, ...others] = problemsOf(
          shape,
          { kind: 'circel', ...(numbered && { at: 7 }), r: 1 },
          definitions,
        );
        const [missing] = problemsOf(shape, { r: 1 }, definitions);
        if (numbered) expect(unknown).to.match(/^shape\.(kind|at) must be one of/);
        else {
          expect(unknown).to.equal(
            'shape.kind must be one of circle, square, box, but is the string "circel"',
          );
          expect(others).to.deep.equal([]);
          expect(missing).to.equal('shape.kind is required: one of circle, square, box');
        }
        const [problem] = problemsOf(shape, 'circle', definitions);
        expect(problem).to.match(/^shape must be an object.*, but is the string "circle"$/);
      });
    });
  }

  it('leave a value alone that is meant for another', () => {
    const { input } = check({ oneOf: [circle, square] }, { kind: 'square', side: 1, color: 'red' });
    expect(input.shape).to.deep.equal({ kind: 'square', side: 1, color: 'red' });
  });

  it('are described where nothing distinguishes them', () => {
    const point = { type: 'object', properties: { x: number, y: number }, required: ['x', 'y'] };
    const named = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
    const shape = { oneOf: [point, named] };
    expect(problemsOf(shape, {})).to.deep.equal([
      'shape must be an object with x and y or an object with place, but fits none of these',
    ]);
    expect(problemsOf(shape, { x: 1, y: 2, z: 3 })).to.deep.equal(['shape.z is not known here']);
    expect(problemsOf(shape, [])).to.deep.equal([
      'shape must be an object with x and y or an object with place, but is an empty list',
    ]);
  });

  it('are validated by the one of the type that was sent', () => {
    const list = { type: 'array', items: number };
    const shape = { oneOf: [circle, list, { type: 'string', maxLength: 3 }] };
    expect(problemsOf(shape, [1, 'x'])).to.deep.equal([
      'shape.1 must be a number of at most 100, but is the string "x"',
    ]);
    expect(problemsOf(shape, { kind: 'circle' })).to.deep.equal([
      'shape.r is required: a number of at most 100',
    ]);
    expect(problemsOf(shape, 'long')[0]).to.match(
      /^shape must be .* a string of at most 3 characters, but is/,
    );
  });

  it('that both fit where one may are named', () => {
    const shape = {
      oneOf: [
        { type: 'number', maximum: 5 },
        { type: 'number', maximum: 9 },
      ],
    };
    expect(problemsOf(shape, 1)).to.deep.equal([
      'shape must be only one of: a number of at most 5 or a number of at most 9',
    ]);
  });

  it('never say that a value must be what it is', () => {
    const shapes: JsonSchema[] = [
      { type: 'object', minProperties: 2 },
      {
        oneOf: [
          { type: 'object', minProperties: 2 },
          { type: 'object', required: ['a'] },
        ],
      },
      {
        anyOf: [
          { type: 'array', minItems: 2 },
          { type: 'array', contains: { const: 1 } },
        ],
      },
      { type: 'array', contains: { const: 1 } },
      { type: 'object', propertyNames: { maxLength: 1 } },
    ];
    for (const shape of shapes) {
      for (const value of [{ bb: 1 }, [2]]) {
        for (const problem of problemsOf(shape, value)) {
          expect(problem).not.to.match(/must be (an object|a list)[^,]*, but is \1/);
        }
      }
    }
  });

  it('of thousands of items are validated in a moment', () => {
    const list = { type: 'array', items: { oneOf: [circle, square] } };
    const begun = ownCpuMs();
    const { problems } = check(
      list,
      Array.from({ length: 4000 }, () => ({ kind: 'box' })),
    );
    expect(problems).to.have.length(51);
    expect(ownCpuMs() - begun).to.be.below(1000);
  });
});
