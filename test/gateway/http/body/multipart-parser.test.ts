import { expect } from 'chai';
import fc from 'fast-check';
import { createMultipartParser } from '../../../../gateway/http/body/multipart-parser.js';
import { close, part } from './form-body.js';

describe('the multipart parser', () => {
  it('tells of each byte once, as content or as framing, wherever the body is cut', () => {
    const values = fc.array(fc.string({ maxLength: 40 }), { maxLength: 4 });
    const edge = fc.constantFrom('', 'preamble\r\n', '\r\n');
    fc.assert(
      fc.property(edge, values, edge, fc.integer({ min: 1, max: 90 }), (before, texts, after, piece) => {
        const body = Buffer.from(before + texts.map((text) => part('a', text)).join('') + close + after);
        let told = 0;
        const parser = createMultipartParser('b', {
          onPart: () => undefined,
          onContent: ({ length }) => (told += length),
          onFraming: (bytes) => (told += bytes),
        });
        for (let at = 0; at < body.length; at += piece) parser.write(body.subarray(at, at + piece));
        parser.end();
        expect(told).to.equal(body.length);
      }),
    );
  });
});
