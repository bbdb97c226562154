import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Image } from '../../../pool/image/engine.js';
import { decodeFirstGifFrame } from '../../../pool/image/jimp-gif.js';
import { imageEngineTests } from './engine-contract.js';
import { decodeBySharp, engineBench } from './engines.js';
import { colorAt, paint, plain, pngOf, rejectionOf, toSharp } from './pictures.js';

imageEngineTests('jimp');

describe('createJimpEngine', () => {
  const bench = engineBench('jimp');

  it('refuses an interlaced png that unpacks to more than its header says', async () => {
    const black = toSharp(plain(3000, 300, [0, 0, 0]));
    const bomb = await black.png({ progressive: true }).toBuffer();
    for (const at of [16, 20]) bomb.writeUInt32BE(8, at);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    const error = await rejectionOf(bench.run(bomb));
    expect(error).to.include({ code: 'bad_image' });
    expect(error.cause.code).to.equal('ERR_BUFFER_TOO_LARGE');
  });

  it('reads a png with bytes after its end', async () => {
    const png = await pngOf(plain(8, 8, [1, 2, 3]));
    const raster = await bench.run(Buffer.concat([png, Buffer.alloc(40)]));
    expect(colorAt(raster, 0, 0)).to.deep.equal([1, 2, 3, 255]);
  });
});

describe('decodeFirstGifFrame', () => {
  const noisy = (width: number, height: number) =>
    paint(width, height, (x, y) => [(x * 31) ^ (y * 17), x * y, x + y].map((v) => v & 0xe0));

  for (const progressive of [false, true]) {
    it(`reads ${progressive ? 'interlaced ' : ''}pixels as libvips does`, async () => {
      const clear = paint(20, 20, (x) => [200, 0, 0, x < 10 ? 0 : 255]);
      for (const raster of [noisy(1, 1), noisy(7, 3), noisy(64, 40), noisy(301, 203), clear]) {
        const gif = await toSharp(raster).gif({ progressive }).toBuffer();
        const { data } = decodeFirstGifFrame(gif, raster.width, raster.height);
        expect(Buffer.from(data).equals((await decodeBySharp(gif)).data), `${raster.width}`).to.equal(true);
      }
    });
  }

  it('ends on any stream, with pixels or an error', async () => {
    const gif = await toSharp(noisy(40, 30)).gif().toBuffer();
    const change = fc.tuple(fc.nat(gif.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const broken = Buffer.from(gif);
        for (const [at, value] of changes) if (at > 12) broken[at] = value;
        try {
          decodeFirstGifFrame(broken, 40, 30);
        } catch (error) {
          expect(error).to.be.instanceOf(Error);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

const lines = { text: 'Wörter in Zeilen', wrap: { maxLines: 3 } };
const recipes: Record<string, (image: Image) => Image> = {
  'with a border and watermarks': (image) => {
    const mark = { opacity: 0.4, fontSize: 14, color: '#ffd700' };
    return image
      .border({ width: 5, color: '#123456' })
      .watermark({ ...mark, text: 'Ünïcödé & <שלום>', position: 'top-left' })
      .watermark({ ...mark, text: 'مرحبا', opacity: 0.9 });
  },
  'with turned, tiled and resized marks': (image) =>
    image
      .watermark({ mark: image, scale: 0.07, tile: { spacing: 3 }, rotate: 10 })
      .watermark({ mark: image.rotate(5), scale: 0.9, position: 'center' })
      .watermark({ ...lines, rotate: 33, position: 'center', outline: 2 })
      .watermark({ text: 'abc', tile: {}, rotate: -45 }),
  'that is cut, turned and laid over itself': (image) => {
    const part = image.crop({ left: 9, top: 8, width: 50, height: 40 }).rotate(90).rotate(33.3);
    return image.composite(part, { left: 20, top: -10 });
  },
};

describe('both image engines', () => {
  const engines = [engineBench('sharp'), engineBench('jimp')];

  for (const [what, recipe] of Object.entries(recipes)) {
    for (const channels of [3, 4]) {
      it(`give the same pixels for a png of ${channels} channels ${what}`, async () => {
        const pixel = (x: number, y: number) => [x * 3, y * 5, x * y, x + y].map((v) => v & 255);
        const source = paint(160, 90, (x, y) => pixel(x, y).slice(0, channels));
        const [one, other] = await Promise.all(engines.map((engine) => engine.run(source, recipe)));
        expect(Buffer.from(one?.data ?? []).equals(other?.data ?? Buffer.of())).to.equal(true);
      });
    }
  }
});
