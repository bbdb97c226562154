import { expect } from 'chai';
import sharp from 'sharp';
import type { ImageEngine } from '../../../pool/image/engine.js';
import { makePreview } from '../../../pool/image/preview.js';
import { example, makeEngine } from './engines.js';
import { limits, paint, pngOf, rejectionOf, toSharp } from './pictures.js';

const noise = (channels: 3 | 4, width = 300, height = 200) =>
  paint(width, height, (x, y) =>
    [(x * 97) ^ (y * 61), x * y * 7, (x * 13) ^ (y * 31), x < width / 2 ? 255 : 0]
      .slice(0, channels)
      .map((v) => v & 255),
  );

const avifOf = (channels: 3 | 4) =>
  toSharp(noise(channels, 150, 100))
    .avif({ effort: 0 })
    .toBuffer();

for (const name of ['sharp', 'jimp'] as const) {
  describe(`makePreview with ${name}`, () => {
    let engine: ImageEngine;
    before(async () => {
      engine = await makeEngine(name);
    });

    async function preview(bytes: Uint8Array, maxBytes = 1_000_000) {
      const { body, type } = await makePreview(engine, bytes, limits, { maxBytes });
      expect(body.byteLength).to.be.at.most(maxBytes);
      const { width, height } = await sharp(body).metadata();
      return { type, width, height, bytes: body.byteLength };
    }

    const failure = (bytes: Uint8Array, maxPixels: number, maxBytes = 1_000_000) =>
      rejectionOf(makePreview(engine, bytes, { ...limits, maxPixels }, { maxBytes }));

    it('keeps the size of what fits', async () => {
      expect(await preview(await example())).to.include({ type: 'image/jpeg', width: 480, height: 320 });
    });

    it('shrinks to so many bytes, not much further, and keeps the proportions', async () => {
      for (const maxBytes of [20_000, 5_000, 1_200]) {
        const { type, width, height, bytes } = await preview(await pngOf(noise(3)), maxBytes);
        expect(type).to.equal('image/jpeg');
        expect(width / height).to.be.closeTo(1.5, 0.15);
        expect(bytes).to.be.greaterThan(maxBytes / 4);
      }
    });

    it('is a webp where the picture is transparent', async () => {
      const { type, width } = await preview(await pngOf(noise(4)), 5_000);
      expect(type).to.equal('image/webp');
      expect(width).to.be.lessThan(300);
    });

    it('can be had of an avif', async () => {
      const avif = await avifOf(3);
      expect(await preview(avif)).to.include({ type: 'image/jpeg', width: 150, height: 100 });
      expect((await preview(avif, 3_000)).width).to.be.lessThan(150);
      expect(await preview(await avifOf(4))).to.include({ type: 'image/webp', width: 150 });
    });

    it('refuses an avif that says it is too large, or is broken', async () => {
      const avif = await avifOf(3);
      expect(await failure(avif, 14_999)).to.include({ code: 'image_too_large' });
      expect(await failure(avif.subarray(0, 40), 1e6)).to.include({ code: 'bad_image' });
      expect(await failure(avif.subarray(0, avif.length >> 1), 1e6)).to.include({ code: 'bad_image' });
      // Nothing of it is left to the next.
      expect(await preview(avif)).to.include({ width: 150 });
    });

    it('refuses what the engine refuses, and says so where not even a pixel fits', async () => {
      expect(await failure(Buffer.from('text'), 1e6)).to.include({ code: 'bad_image' });
      const error = await failure(await example(), 1e6, 10);
      expect(error).to.be.instanceOf(RangeError);
      expect(error.message).to.include('10 bytes');
    });
  });
}
