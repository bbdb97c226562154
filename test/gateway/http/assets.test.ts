import { brotliDecompressSync } from 'node:zlib';
import { expect } from 'chai';
import type { Context } from 'koa';
import { makeAsset, sendAsset } from '../../../gateway/http/assets.js';

/** Whether the first byte of brotli's format says a window of 2^17 bytes at most (RFC 7932, 9.1). */
const hasSmallWindow = (first: number) => (first & 1) === 0 || (first & 0b1111) === 1;

describe('an asset', () => {
  it('is compressed with a window of its own size, because making larger ones takes longer than all else', async () => {
    for (const words of [100, 1_000, 100_000]) {
      const ctx = { set() {}, vary() {}, acceptsEncodings: () => 'br', state: {}, body: Buffer.of() };
      const text = Buffer.from('a page of words '.repeat(words));
      await sendAsset(ctx as unknown as Context, makeAsset(text, 'text/html'), 'no-cache');
      expect(brotliDecompressSync(ctx.body).equals(text)).to.equal(true);
      expect(hasSmallWindow(ctx.body[0] ?? 0)).to.equal(words < 100_000);
    }
  });
});
