import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { createCoerce } from '../../../schemas/parameters/coerce.js';
import { anyCharacter } from '../../any-character.js';

function read(schema: JsonSchema, text: string, root: JsonSchema = {}): unknown {
  return createCoerce(schema, root)(text);
}

describe('coercion of query and form values', () => {
  for (const [text, value] of [
    ['5', 5],
    ['-5', -5],
    ['1.5', 1.5],
    ['1e3', 1000],
    ['-0', 0],
    ['007', 7],
  ] as const) {
    it(`reads the number ${text}`, () => {
      expect(read({ type: 'number' }, text)).to.equal(value);
      expect(read({ type: 'integer' }, text)).to.equal(value);
    });
  }

  for (const text of [
    '',
    ' 5',
    '5 ',
    '0x10',
    'Infinity',
    '-Infinity',
    'NaN',
    '1e999',
    '1_000',
    '1.',
    '.5',
    '+5',
    '٣',
    'null',
    '9'.repeat(500),
  ]) {
    it(`leaves ${JSON.stringify(text.slice(0, 10))} to be refused as a number`, () => {
      expect(read({ type: 'number' }, text)).to.equal(text);
    });
  }

  it('reads exactly true, 1, false and 0 as booleans', () => {
    expect(['true', '1', 'false', '0'].map((text) => read({ type: 'boolean' }, text))).to.deep.equal([
      true,
      true,
      false,
      false,
    ]);
    for (const text of ['TRUE', 'yes', '', 'on', '01'])
      expect(read({ type: 'boolean' }, text)).to.equal(text);
  });

  it('leaves strings alone', () => {
    for (const text of ['', '5', 'true', 'a,b', '{}']) expect(read({ type: 'string' }, text)).to.equal(text);
  });

  it('splits lists at commas and reads each item', () => {
    expect(read({ type: 'array', items: { type: 'string' } }, 'a, b,c')).to.deep.equal(['a', 'b', 'c']);
    expect(read({ type: 'array', items: { type: 'integer' } }, '1,x')).to.deep.equal([1, 'x']);
    expect(read({ type: 'array', items: { type: 'string' } }, '')).to.deep.equal([]);
    expect(read({ type: 'array', items: { type: 'string' } }, 'a,,b')).to.deep.equal(['a', '', 'b']);
  });

  it('reads objects, and lists of objects, as JSON', () => {
    expect(read({ type: 'object' }, '{"a":1}')).to.deep.equal({ a: 1 });
    expect(read({ type: 'object' }, '[1]')).to.deep.equal([1]);
    expect(read({ type: 'object' }, '{')).to.equal('{');
    expect(read({ type: 'array', items: { type: 'object' } }, '[{"a":1}]')).to.deep.equal([{ a: 1 }]);
    expect(read({ type: 'array', items: { type: 'object' } }, '{"a":1}')).to.deep.equal({ a: 1 });
  });

  it('tries number, boolean and string where several are declared', () => {
    const schema = { type: ['string', 'boolean', 'number'] };
    expect(['1', 'true', 'x'].map((text) => read(schema, text))).to.deep.equal([1, true, 'x']);
    expect(read({ type: ['number', 'string'], fraction: true }, '50%')).to.equal('50%');
    expect(read({ type: ['string', 'array'] }, 'a,b')).to.equal('a,b');
  });

  it('finds the type in enum, const, alternatives and references', () => {
    expect(read({ enum: [1, 2] }, '2')).to.equal(2);
    expect(read({ const: true }, '1')).to.equal(true);
    expect(read({ anyOf: [{ type: 'integer' }, { type: 'boolean' }] }, '7')).to.equal(7);
    expect(read({ $ref: '#/definitions/n' }, '7', { definitions: { n: { type: 'integer' } } })).to.equal(7);
    expect(
      read({ $ref: '#/definitions/a' }, '7', { definitions: { a: { $ref: '#/definitions/a' } } }),
    ).to.equal('7');
  });

  it('never throws', () => {
    const type = fc.constantFrom('integer', 'number', 'boolean', 'string', 'array', 'object', 'null');
    fc.assert(
      fc.property(
        fc.uniqueArray(type, { minLength: 1 }),
        fc.string({ unit: anyCharacter }),
        (types, text) => {
          read({ type: types, items: { type: types[0] } }, text);
        },
      ),
    );
  });
});
