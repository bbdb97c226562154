import { expect } from 'chai';
import fc from 'fast-check';
import { formatCursor, parseCursor } from '../../../gateway/usage/cursor.js';

describe('usage cursor', () => {
  it('reads back what it wrote', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((part) => !part.includes('\0'));
    fc.assert(
      fc.property(text, text, text, (day, key, service) => {
        expect(parseCursor(formatCursor({ day, key, service }))).to.deep.equal({ day, key, service });
      }),
    );
  });

  it('refuses anything else as invalid input', () => {
    for (const text of ['', 'x', 'W10', Buffer.from('["a","b",1]').toString('base64url')]) {
      expect(() => parseCursor(text))
        .to.throw()
        .with.property('code', 'invalid_input');
    }
  });
});
