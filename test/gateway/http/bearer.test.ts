import { expect } from 'chai';
import { bearerToken } from '../../../gateway/http/bearer.js';

describe('a bearer token', () => {
  it('is read off its header, whatever the case of the scheme', () => {
    for (const header of ['Bearer abc', 'bearer abc', 'BEARER   abc']) {
      expect(bearerToken(header)).to.equal('abc');
    }
  });

  it('is one, and has its scheme', () => {
    for (const header of ['', 'Bearer', 'Bearer ', 'abc', 'Basic abc', 'Bearer a b', 'Bearer\tabc']) {
      expect(bearerToken(header), header).to.equal(undefined);
    }
  });
});
