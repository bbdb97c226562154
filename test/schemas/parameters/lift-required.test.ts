import { expect } from 'chai';
import { liftRequired } from '../../../schemas/parameters/lift-required.js';

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
