import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync } from 'node:zlib';
import { expect } from 'chai';
import Koa from 'koa';
import { makeAsset, sendAsset } from '../../../gateway/http/assets.js';

/** Whether the first byte of brotli's format says a window of 2^17 bytes at most (RFC 7932, 9.1). */
const hasSmallWindow = (first: number) => (first & 1) === 0 || (first & 0b1111) === 1;

describe('an asset', () => {
  let server: Server;

  before(async () => {
    const app = new Koa();
    app.use((ctx) => {
      const body = Buffer.from('a page of words '.repeat(Number(ctx.querystring)));
      return sendAsset(ctx, makeAsset(body, 'text/html; charset=utf-8'), 'no-cache');
    });
    server = createServer(app.callback()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
  });

  after(() => server.close());

  async function packed(words: number): Promise<Buffer> {
    const { port } = server.address() as AddressInfo;
    const headers = { 'accept-encoding': 'br' };
    const response = await new Promise<IncomingMessage>((resolve) => {
      get({ host: '127.0.0.1', port, path: `/?${words}`, headers }, resolve);
    });
    return buffer(response);
  }

  it('is compressed with tables of its own size, for to make larger ones takes longer than all else', async () => {
    for (const [words, small] of [
      [100, true],
      [1_000, true],
      [100_000, false],
    ] as const) {
      const bytes = await packed(words);
      expect(brotliDecompressSync(bytes)).to.have.length(16 * words);
      expect(hasSmallWindow(bytes[0] ?? 0)).to.equal(small);
    }
  });
});
