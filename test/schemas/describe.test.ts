import { expect } from 'chai';
import { describeProperty } from '../../schemas/describe.js';

describe('describeProperty', () => {
  for (const [schema, text] of [
    [{ type: 'integer', minimum: 0, maximum: 5000 }, 'an integer from 0 to 5000'],
    [{ type: 'number', exclusiveMinimum: 0 }, 'a number above 0'],
    [{ type: 'integer', minimum: 1, multipleOf: 2 }, 'an integer of at least 1 in steps of 2'],
    [{ type: 'boolean' }, 'true or false'],
    [{ type: 'string' }, 'a string'],
    [{ type: 'string', minLength: 1, maxLength: 500 }, 'a string of 1 to 500 characters'],
    [{ type: 'string', maxLength: 1 }, 'a string of at most 1 character'],
    [{ type: 'string', pattern: '^a' }, 'a string that matches ^a'],
    [{ type: 'string', enum: ['a', 'b c'] }, 'one of a, "b c"'],
    [{ const: 3 }, '3'],
    [{ type: 'string', choice: { png: [], jpg: ['jpeg'] } }, 'one of png, jpg (or jpeg)'],
    [
      { type: 'array', maxItems: 3, uniqueItems: true, items: { type: 'integer' } },
      'a list of at most 3 items, all different, each an integer',
    ],
    [{ type: ['integer', 'boolean'] }, 'an integer or true or false'],
    [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, 'an integer or a string'],
    [{ type: 'object' }, 'an object'],
    [{}, 'a value that its schema allows'],
  ] as const) {
    it(`says "${text}"`, () => {
      expect(describeProperty(schema)).to.equal(text);
    });
  }

  it('lists a hundred values at most', () => {
    const text = describeProperty({ enum: Array.from({ length: 2000 }, (_, at) => `v${at}`) });
    expect(text).to.match(/^one of v0, v1, .*, v99 and 1900 more$/);
  });

  it('describes once what holds itself', () => {
    const list = { type: 'array', maxItems: 3, items: { $ref: '#/definitions/list' } };
    const json = { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/definitions/json' } }] };
    const root = { definitions: { list, json } };
    expect(describeProperty(list, root)).to.equal('a list of at most 3 items');
    expect(describeProperty({ $ref: '#/definitions/json' }, root)).to.equal('a string or a list');
  });

  it('describes colours and fractions by what may be written', () => {
    expect(describeProperty({ type: 'string', color: true })).to.contain('#rrggbb');
    expect(describeProperty({ type: ['number', 'string'], fraction: true })).to.contain('"50%"');
  });
});
