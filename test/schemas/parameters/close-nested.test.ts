import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';

const real = { dryrun: false };
const text = { type: 'string', maxLength: 10 };

/** What is said of `value` as the one parameter `v` of this schema. */
function problemsOf(value: unknown, v: JsonSchema, definitions: Record<string, JsonSchema> = {}): string[] {
  const input = { type: 'object', properties: { v }, definitions };
  const { check } = compileParameters(createVocabulary(), { input });
  return check({ v: value }, real).problems.map(({ field, problem }) => `${field} ${problem}`);
}

const size = { type: 'object', properties: { width: { type: 'integer' }, unit: text } };

describe('nested objects', () => {
  it('take no name that is not declared, at any depth and in lists', () => {
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
