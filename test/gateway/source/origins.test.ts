import { expect } from 'chai';
import { parseExemptOrigins } from '../../../gateway/source/origins.js';

describe('parseExemptOrigins', () => {
  it('takes exact origins and writes them as URL.origin does', () => {
    const list = [
      'http://127.0.0.1:9100',
      'https://Images.Internal/',
      'http://[::1]:80',
      'https://a.example:443',
    ];
    const origins = ['http://127.0.0.1:9100', 'https://images.internal', 'http://[::1]', 'https://a.example'];
    expect([...parseExemptOrigins(list)]).to.deep.equal(origins);
  });

  const bad = [
    '',
    '127.0.0.1:9100',
    'http://*.internal',
    'http://a/b',
    'http://a?b',
    'http://a#b',
    'http://u:p@a',
    'http://u@a',
    'ftp://a',
    'file:///a',
    'null',
    'http://a, http://b',
    ' http://a',
    'http://127.1',
    'http://a\\b',
    'http://a:0080',
  ];
  for (const entry of bad) {
    it(`throws for ${JSON.stringify(entry)} without repeating it`, () => {
      expect(() => parseExemptOrigins(['http://fine', entry])).to.throw(
        /^exempt origin 2 is not of the form/,
      );
    });
  }
});
