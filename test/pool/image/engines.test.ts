import { expect } from 'chai';
import { decodeBySharp } from './decoders.js';
import { makeEngine } from './engines.js';
import { limits, paint, toSharp } from './pictures.js';

describe('both image engines', () => {
  for (const channels of [3, 4]) {
    it(`give the same pixels for a png of ${channels} channels with a border and watermarks`, async () => {
      const pixel = (x: number, y: number) => [(x * 3) & 255, (y * 5) & 255, (x * y) & 255, (x + y) & 255];
      const source = await toSharp(paint(160, 90, (x, y) => pixel(x, y).slice(0, channels)))
        .png()
        .toBuffer();
      const results = await Promise.all(
        (['sharp', 'jimp'] as const).map(async (name) => {
          const image = await (await makeEngine(name)).open(source, limits);
          const first = {
            text: 'Ünïcödé & <שלום>',
            position: 'top-left',
            opacity: 0.4,
            fontSize: 14,
            color: '#ffd700',
          } as const;
          const second = { ...first, text: 'مرحبا', position: 'bottom-right', opacity: 0.9 } as const;
          const marked = image.border({ width: 5, color: '#123456' }).watermark(first).watermark(second);
          return decodeBySharp((await marked.encode('png')).body);
        }),
      );
      expect(results[0]?.width).to.equal(170);
      expect(Buffer.from(results[0]?.data ?? []).equals(results[1]?.data ?? Buffer.alloc(0))).to.equal(true);
    });
  }

  for (const channels of [3, 4]) {
    it(`give the same pixels for a png of ${channels} channels with turned, tiled and resized marks`, async () => {
      const pixel = (x: number, y: number) => [(x * 3) & 255, (y * 5) & 255, (x * y) & 255, (x + y) & 255];
      const source = await toSharp(paint(160, 90, (x, y) => pixel(x, y).slice(0, channels)))
        .png()
        .toBuffer();
      const results = await Promise.all(
        (['sharp', 'jimp'] as const).map(async (name) => {
          const image = await (await makeEngine(name)).open(source, limits);
          const marked = image
            .watermark({ mark: image, scale: 0.07, tile: { spacing: 3 }, rotate: 10 })
            .watermark({ mark: image.rotate(5), scale: 0.9, position: 'center' })
            .watermark({
              text: 'Wörter in Zeilen',
              wrap: { maxLines: 3 },
              rotate: 33,
              position: 'center',
              outline: 2,
            })
            .watermark({ text: 'abc', tile: {}, rotate: -45 });
          return decodeBySharp((await marked.encode('png')).body);
        }),
      );
      expect(Buffer.from(results[0]?.data ?? []).equals(results[1]?.data ?? Buffer.alloc(0))).to.equal(true);
    });
  }

  for (const channels of [3, 4]) {
    it(`give the same pixels for a png of ${channels} channels that is cut, turned and laid over itself`, async () => {
      const pixel = (x: number, y: number) => [(x * 3) & 255, (y * 5) & 255, (x * y) & 255, (x + y) & 255];
      const source = await toSharp(paint(90, 60, (x, y) => pixel(x, y).slice(0, channels)))
        .png()
        .toBuffer();
      const results = await Promise.all(
        (['sharp', 'jimp'] as const).map(async (name) => {
          const image = await (await makeEngine(name)).open(source, limits);
          const part = image.crop({ left: 9, top: 8, width: 50, height: 40 }).rotate(90).rotate(33.3);
          return decodeBySharp((await image.composite(part, { left: 20, top: -10 }).encode('png')).body);
        }),
      );
      expect(Buffer.from(results[0]?.data ?? []).equals(results[1]?.data ?? Buffer.alloc(0))).to.equal(true);
    });
  }
});
