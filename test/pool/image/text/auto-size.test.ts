import { expect } from 'chai';
import { autoFontSize } from '../../../../pool/image/text/auto-size.js';

describe('autoFontSize', () => {
  it('is a twentieth of the shorter side, whole', () => {
    expect(autoFontSize({ width: 2500, height: 1786 })).to.equal(89);
    expect(autoFontSize({ width: 400, height: 3000 })).to.equal(20);
  });

  it('is 12 pixels at least, on the smallest picture too', () => {
    expect(autoFontSize({ width: 239, height: 900 })).to.equal(12);
    expect(autoFontSize({ width: 1, height: 1 })).to.equal(12);
  });
});
