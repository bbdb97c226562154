import { expect } from 'chai';
import fc from 'fast-check';
import { bearerToken, isLoopbackAddress, isLoopbackHost, originForm } from '../../../gateway/http/request.js';

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

describe('loopback', () => {
  it('is told of addresses, and of nothing else', () => {
    for (const address of ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1']) {
      expect(isLoopbackAddress(address), address).to.equal(true);
    }
    // A socket that is closed has none.
    for (const address of ['', 'localhost', '10.0.0.1', '0.0.0.0', '::', '::2', '::ffff:10.0.0.1', '127.1']) {
      expect(isLoopbackAddress(address), address).to.equal(false);
    }
  });

  it('is told of host names as URL gives them', () => {
    const hosts = ['localhost', 'keys.localhost', '127.0.0.1', '[::1]', '127.1', '[::ffff:127.0.0.1]'];
    for (const host of hosts) expect(isLoopbackHost(new URL(`http://${host}`).hostname), host).to.equal(true);
    for (const host of ['localhost.example', 'notlocalhost', '10.0.0.1', '[::2]', '127.0.0.1.example']) {
      expect(isLoopbackHost(new URL(`http://${host}`).hostname), host).to.equal(false);
    }
  });
});

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
