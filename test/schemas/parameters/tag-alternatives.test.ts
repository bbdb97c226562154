import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';
import { ownCpuMs } from '../../bench/cpu.js';

const real = { dryrun: false };

function check(shape: JsonSchema, value: unknown, definitions: Record<string, JsonSchema> = {}) {
  const input = { type: 'object', properties: { shape }, required: ['shape'], definitions };
  return compileParameters(createVocabulary(), { input }).check({ shape: value }, real);
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

for (const [what, shape, definitions] of [
  ['oneOf', { oneOf: [circle, square] }, {}],
  ['anyOf', { anyOf: [circle, square] }, {}],
  [
    'oneOf of references',
    { oneOf: [{ $ref: '#/definitions/circle' }, { $ref: '#/definitions/square' }] },
    { circle, square },
  ],
  [
    'oneOf under an object',
    { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'], oneOf: [circle, square] },
    {},
  ],
  ['a reference to oneOf', { $ref: '#/definitions/shape' }, { shape: { oneOf: [circle, square] } }],
  [
    'oneOf whose tags are numbers',
    {
      oneOf: [circle, square].map((each, at) => ({
        ...each,
        properties: { ...each.properties, at: { const: at } },
        required: [...each.required, 'at'],
      })),
    },
    {},
  ],
] as [string, JsonSchema, Record<string, JsonSchema>][]) {
  const numbered = what.includes('numbers');
  const tagged = (value: object, at: number) => (numbered ? { ...value, at } : value);

  describe(`alternatives that a property tells apart, as ${what},`, () => {
    it('take what fits', () => {
      expect(problemsOf(shape, tagged({ kind: 'circle', r: 1 }, 0), definitions)).to.deep.equal([]);
      expect(problemsOf(shape, tagged({ kind: 'box', side: 1 }, 1), definitions)).to.deep.equal([]);
    });

    it('are judged by the one that is meant', () => {
      expect(problemsOf(shape, tagged({ kind: 'circle' }, 0), definitions)).to.deep.equal([
        'shape.r is required: a number of at most 100',
      ]);
      expect(problemsOf(shape, tagged({ kind: 'square', side: 'x', r: 1 }, 1), definitions)).to.have.members([
        'shape.side must be a number of at most 100, but is the string "x"',
        'shape.r is not known here',
      ]);
    });

    it('are named where none is meant', () => {
      const [unknown] = problemsOf(shape, { kind: 'circel', at: 7, r: 1 }, definitions);
      const [missing] = problemsOf(shape, { r: 1 }, definitions);
      if (numbered) {
        expect(unknown).to.match(/^shape\.(kind|at) must be one of/);
      } else {
        expect(problemsOf(shape, { kind: 'circel', r: 1 }, definitions)).to.deep.equal([
          'shape.kind must be one of circle, square, box, but is the string "circel"',
        ]);
        expect(missing).to.equal('shape.kind is required: one of circle, square, box');
      }
    });

    it('are named where there is no object at all', () => {
      const [problem] = problemsOf(shape, 'circle', definitions);
      expect(problem).to.match(/^shape must be an object.*, but is the string "circle"$/);
    });
  });
}

describe('alternatives', () => {
  it('leave the value alone that another is meant for', () => {
    const { input } = check({ oneOf: [circle, square] }, { kind: 'square', side: 1, color: 'red' });
    expect(input.shape).to.deep.equal({ kind: 'square', side: 1, color: 'red' });
  });

  it('are told as what they are where nothing tells them apart', () => {
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

  it('are judged by the one of the type that was sent', () => {
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

  it('of ten thousand items are judged in a moment', () => {
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
