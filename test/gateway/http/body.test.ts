import { expect } from 'chai';
import fc from 'fast-check';
import { createGrowingBuffer, fileType } from '../../../gateway/http/body.js';

describe('createGrowingBuffer', () => {
  it('gives back all chunks in order, alone in their ArrayBuffer, whatever length was told', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 });
    fc.assert(
      fc.property(chunks, fc.option(fc.nat(1000), { nil: undefined }), (list, expected) => {
        const buffer = createGrowingBuffer(1000, expected);
        for (const chunk of list) buffer.add(chunk);
        const bytes = buffer.bytes();
        expect(Buffer.from(bytes)).to.deep.equal(Buffer.concat(list));
        expect(bytes.buffer.byteLength).to.equal(bytes.length);
      }),
    );
  });

  it('believes a promised length when the first bytes of it have come', () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.nat(2000), fc.nat(2000), (max, expected, first) => {
        const buffer = createGrowingBuffer(max, expected, first);
        const whole = Uint8Array.from({ length: max }, (_, i) => i);
        for (let at = 0; at < max; at += 37) buffer.add(whole.subarray(at, at + 37));
        expect(Buffer.from(buffer.bytes()).equals(whole)).to.equal(true);
      }),
    );
  });

  it('takes exactly the limit and not one byte more', () => {
    const buffer = createGrowingBuffer(10);
    expect(buffer.add(new Uint8Array(10))).to.equal(true);
    expect(buffer.add(new Uint8Array(1))).to.equal(false);
    expect(buffer.bytes()).to.have.length(10);
  });

  it('grows past its first size', () => {
    const buffer = createGrowingBuffer(5_000_000);
    for (let i = 0; i < 50; i++) expect(buffer.add(new Uint8Array(100_000).fill(i))).to.equal(true);
    const bytes = buffer.bytes();
    expect([bytes[0], bytes[2_500_000], bytes.at(-1), bytes.length]).to.deep.equal([0, 25, 49, 5_000_000]);
  });
});

describe('the media type of a file', () => {
  it('is what its sender says', () => {
    expect(fileType('text/plain; charset=utf-8', 'table.csv')).to.equal('text/plain; charset=utf-8');
  });

  it('is what its name says where its sender does not know', () => {
    for (const said of ['', 'application/octet-stream', 'Application/Octet-Stream; a=b']) {
      expect(fileType(said, 'table.csv')).to.equal('text/csv');
    }
  });

  it('is unknown where nobody says', () => {
    expect(fileType('', undefined)).to.equal('application/octet-stream');
    expect(fileType('application/octet-stream', 'table')).to.equal('application/octet-stream');
  });
});
