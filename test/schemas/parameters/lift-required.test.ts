import { expect } from 'chai';
import { liftRequired } from '../../../schemas/parameters/lift-required.js';

describe('liftRequired', () => {
  it('lifts demands at the top and in alternatives, and changes nothing else', () => {
    const schema = {
      type: 'object',
      required: ['a'],
      minProperties: 1,
      properties: { a: { type: 'object', required: ['b'] } },
      allOf: [{ required: ['a'] }],
      not: { required: ['z'] },
    };
    const before = structuredClone(schema);
    expect(liftRequired(schema)).to.deep.equal({
      type: 'object',
      properties: { a: { type: 'object', required: ['b'] } },
      allOf: [{}],
      not: { required: ['z'] },
    });
    expect(schema).to.deep.equal(before);
  });

  it('drops at least one of several of which one demands nothing any more', () => {
    const anyOf = [{ required: ['a'] }, { required: ['b'], properties: { b: { type: 'string' } } }];
    expect(liftRequired({ type: 'object', anyOf })).to.deep.equal({ type: 'object' });
    const [, typed] = anyOf;
    expect(liftRequired({ anyOf: [typed, typed] }).anyOf).to.have.length(2);
  });

  it('turns exactly one into at least one, for without demands all may fit', () => {
    expect(liftRequired({ oneOf: [{ required: ['a'] }, { required: ['b'] }] })).to.deep.equal({
      allOf: [{ anyOf: [{}, {}] }],
    });
  });
});
