import { expect } from 'chai';
import fc from 'fast-check';
import { jsonSize } from '../../pool/json-size.js';
import { anyCharacter } from '../any-character.js';

describe('jsonSize', () => {
  it('is the size of a text as JSON, to the byte', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(jsonSize(text, 1e9)).to.equal(Buffer.byteLength(JSON.stringify(text)));
      }),
    );
  });

  it('is not far from the size of any other value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(jsonSize(value, 1e9)).to.be.at.most(3 * Buffer.byteLength(JSON.stringify(value)) + 4);
      }),
    );
  });

  it('does not count on past what is allowed', () => {
    const once = { text: '\x01'.repeat(100) };
    expect(jsonSize(Array(1e5).fill(once), 1000)).to.be.within(1000, 2000);
  });

  it('ends with a value that holds itself', () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    expect(() => jsonSize(value, 1e9)).to.throw('holds itself');
  });
});
