import { expect } from 'chai';
import type { Image, ImageEngine } from '../../../pool/image/engine.js';
import { decodeBySharp, makeEngine } from './engines.js';
import { limits, paint, pngOf } from './pictures.js';

const recipes: Record<string, (image: Image) => Image> = {
  'with a border and watermarks': (image) => {
    const first = {
      text: 'Ünïcödé & <שלום>',
      position: 'top-left',
      opacity: 0.4,
      fontSize: 14,
      color: '#ffd700',
    } as const;
    const second = { ...first, text: 'مرحبا', position: 'bottom-right', opacity: 0.9 } as const;
    return image.border({ width: 5, color: '#123456' }).watermark(first).watermark(second);
  },
  'with turned, tiled and resized marks': (image) =>
    image
      .watermark({ mark: image, scale: 0.07, tile: { spacing: 3 }, rotate: 10 })
      .watermark({ mark: image.rotate(5), scale: 0.9, position: 'center' })
      .watermark({
        text: 'Wörter in Zeilen',
        wrap: { maxLines: 3 },
        rotate: 33,
        position: 'center',
        outline: 2,
      })
      .watermark({ text: 'abc', tile: {}, rotate: -45 }),
  'that is cut, turned and laid over itself': (image) => {
    const part = image.crop({ left: 9, top: 8, width: 50, height: 40 }).rotate(90).rotate(33.3);
    return image.composite(part, { left: 20, top: -10 });
  },
};

describe('both image engines', () => {
  let engines: ImageEngine[];
  before(async () => {
    engines = await Promise.all([makeEngine('sharp'), makeEngine('jimp')]);
  });

  for (const [what, recipe] of Object.entries(recipes)) {
    for (const channels of [3, 4]) {
      it(`give the same pixels for a png of ${channels} channels ${what}`, async () => {
        const pixel = (x: number, y: number) => [(x * 3) & 255, (y * 5) & 255, (x * y) & 255, (x + y) & 255];
        const source = await pngOf(paint(160, 90, (x, y) => pixel(x, y).slice(0, channels)));
        const [one, other] = await Promise.all(
          engines.map(async (engine) => {
            const image = recipe(await engine.open(source, limits));
            const raster = await decodeBySharp((await image.encode('png')).body);
            expect([raster.width, raster.height]).to.deep.equal([image.width, image.height]);
            return Buffer.from(raster.data);
          }),
        );
        expect(one?.equals(other as Buffer)).to.equal(true);
      });
    }
  }
});
