import { expect } from 'chai';
import fc from 'fast-check';
import { originForm } from '../../../../gateway/http/server/request-target.js';

describe('a request target', () => {
  const cases: [string, string | undefined][] = [
    ['/a?b=c', '/a?b=c'],
    ['/a#b?c', '/a'],
    ['http://x', '/'],
    ['HTTPS://x:99999?a', '/?a'],
    ['http://x//y', '//y'],
    ['*', '*'],
    ['http://', undefined],
    ['ftp://x/', undefined],
    ['', undefined],
    ['/\xc3\xa9?\xff\xa0', '/%C3%A9?%FF%A0'],
  ];
  for (const [target, expected] of cases) {
    it(`${JSON.stringify(target)} is ${expected}`, () => expect(originForm(target)).to.equal(expected));
  }

  it('is printable ASCII that begins with a slash, whatever came', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(originForm(`/${text}`)).to.match(/^\/[\x21-\x7e]*$/);
      }),
    );
  });
});
