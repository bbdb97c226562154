import { expect } from 'chai';
import fc from 'fast-check';
import { errorTable } from '../../../gateway/errors.js';
import { createGrowingBuffer, fileType } from '../../../gateway/http/body.js';
import { bearerToken, isLoopbackHost, originForm } from '../../../gateway/http/request.js';
import { words } from '../../examples.js';
import { codesIn, readText, rowsOf, sectionOf } from '../../readme.js';

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
  for (const [target, expected] of cases)
    it(`${JSON.stringify(target)} is ${expected}`, () => expect(originForm(target)).to.equal(expected));

  it('is printable ASCII that begins with a slash, whatever came', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(originForm(`/${text}`)).to.match(/^\/[\x21-\x7e]*$/);
      }),
    );
  });
});

describe('loopback', () => {
  it('is a host name as URL gives it', () => {
    const inside = words`localhost keys.localhost 127.0.0.1 [::1] 127.1 [::ffff:127.0.0.1]`;
    const outside = words`localhost.example notlocalhost 10.0.0.1 [::2] 127.0.0.1.example`;
    const isLoopback = (host: string) => isLoopbackHost(new URL(`http://${host}`).hostname);
    expect([...outside, ...inside].filter(isLoopback)).to.deep.equal(inside);
  });
});

describe('a bearer token', () => {
  it('is read whatever the case of its scheme, if it is one', () => {
    const headers = ['Bearer abc', 'bearer abc', 'BEARER   abc', '', 'Bearer ', 'Bearer a b', 'Bearer\tabc'];
    expect(headers.map(bearerToken).filter(Boolean)).to.deep.equal(['abc', 'abc', 'abc']);
  });
});

describe('createGrowingBuffer', () => {
  it('gives back all chunks in order, alone in their ArrayBuffer, whatever length was promised', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 20 });
    const promised = fc.option(fc.nat(9000), { nil: undefined });
    fc.assert(
      fc.property(chunks, promised, promised, fc.nat(400), (list, expected, first, room) => {
        const whole = Buffer.concat(list);
        const max = whole.length + room;
        const buffer = createGrowingBuffer(max, expected, first);
        for (const chunk of list) expect(buffer.add(chunk)).to.equal(true);
        expect(buffer.add(new Uint8Array(room + 1)), 'one byte more').to.equal(false);
        const bytes = buffer.bytes();
        expect(Buffer.from(bytes).equals(whole)).to.equal(true);
        expect(bytes.buffer.byteLength).to.equal(bytes.length);
        expect(buffer.add(new Uint8Array(room)), 'exactly the limit').to.equal(true);
      }),
    );
  });
});

describe('the media type of a file', () => {
  const unknown = 'application/octet-stream';
  const cases: [said: string, name: string | undefined, type: string][] = [
    ['text/plain; charset=utf-8', 'table.csv', 'text/plain; charset=utf-8'],
    ['', 'table.csv', 'text/csv'],
    [unknown, 'table.csv', 'text/csv'],
    ['Application/Octet-Stream; a=b', 'table.csv', 'text/csv'],
    ['', undefined, unknown],
    [unknown, 'table', unknown],
  ];
  for (const [said, name, type] of cases)
    it(`is ${type} for ${name}, sent as "${said}"`, () => expect(fileType(said, name)).to.equal(type));
});

describe('gateway/http/README', () => {
  it('names every error code with its status, and no other', () => {
    const rows = rowsOf(sectionOf(readText('gateway/http/README.md'), 'Errors'));
    const documented = rows.flatMap(([status, codes]) =>
      codesIn(codes).map((code) => [code, Number(status)]),
    );
    const real = Object.entries(errorTable).map(([code, { status }]) => [code, status]);
    expect(documented).to.have.deep.members(real);
  });
});
