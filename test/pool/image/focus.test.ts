import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import type { Focus, Image, Size } from '../../../pool/image/engine.js';
import { findFocus, placeCut } from '../../../pool/image/focus.js';
import type { Raster } from '../../../pool/image/raster.js';
import { pixelsOf } from '../../../pool/image/recorded-image.js';
import { engineBench } from './engines.js';
import {
  film,
  limits,
  paint,
  plain,
  pngOf,
  quadrants,
  rasters,
  sizeOf,
  storeTurned,
  toSharp,
} from './pictures.js';
import { drawScene, sceneCount } from './scenes.js';

describe('placeCut', () => {
  const scaled = { width: 300, height: 101 };
  for (const [focus, left, top] of [
    ['center', 100, 0],
    ['left', 0, 0],
    ['top-right', 200, 0],
    ['bottom', 100, 0],
    ['30%,20%', 40, 0],
    ['0%,100%', 0, 0],
    ['100%,0%', 200, 0],
    ['66.7%,50%', 150, 0],
  ] as [Focus, number, number][]) {
    it(`has ${focus} as near to the middle as the picture lets it`, () => {
      expect(placeCut({ scaled, width: 100, height: 101 }, focus)).to.deep.equal({ left, top });
      // The same, lying down.
      const [x = '', y] = focus.split(',');
      const names = { left: 'top', 'top-right': 'bottom-left', bottom: 'right' } as Record<string, Focus>;
      const turned = y ? (`${y},${x}` as Focus) : (names[focus] ?? focus);
      const lying = { scaled: { width: 101, height: 300 }, width: 101, height: 100 };
      expect(placeCut(lying, turned)).to.deep.equal({ left: top, top: left });
    });
  }
});

describe('findFocus', () => {
  it('keeps the subject of drawn scenes whole', () => {
    const lost: string[] = [];
    for (let index = 0; index < sceneCount; index += 1) {
      const { raster, box, name } = drawScene(index);
      const side = Math.min(raster.width, raster.height);
      const { left, top } = findFocus(raster, { scaled: raster, width: side, height: side });
      const isWhole =
        box.left >= left - 1.5 &&
        box.top >= top - 1.5 &&
        box.right <= left + side + 1.5 &&
        box.bottom <= top + side + 1.5;
      if (!isWhole) lost.push(name);
    }
    expect(lost.length, lost.join(', ')).to.be.at.most(2);
  });

  it('cuts an empty picture in the middle', () => {
    for (const color of [
      [255, 255, 255],
      [0, 0, 0],
      [30, 90, 200],
      [9, 9, 9, 0],
    ]) {
      const raster = plain(90, 60, color);
      expect(findFocus(raster, { scaled: raster, width: 60, height: 60 })).to.deep.equal({
        left: 15,
        top: 0,
      });
    }
  });

  it('lies in any picture, whatever it and the size are', () => {
    const side = fc.integer({ min: 1, max: 300 });
    fc.assert(
      fc.property(rasters(), side, side, fc.nat(200), (raster, width, height, more) => {
        for (const scaled of [
          { width: width + more, height },
          { width, height: height + more },
        ]) {
          const { left, top } = findFocus(raster, { scaled, width, height });
          expect(left).to.be.within(0, scaled.width - width);
          expect(top).to.be.within(0, scaled.height - height);
        }
      }),
      { numRuns: 50 },
    );
  });
});

/** Where a part lies in the whole, to the pixel. */
function placeOf(part: Raster, whole: Raster): string {
  const row = (raster: Raster, left: number, top: number, width: number) => {
    const from = (top * raster.width + left) * raster.channels;
    return Buffer.from(raster.data.subarray(from, from + width * raster.channels));
  };
  for (let top = 0; top <= whole.height - part.height; top++) {
    for (let left = 0; left <= whole.width - part.width; left++) {
      const isHere = (y: number) => row(part, 0, y, part.width).equals(row(whole, left, top + y, part.width));
      if (Array.from({ length: part.height }, (_, y) => y).every(isHere)) return `${left},${top}`;
    }
  }
  return 'nowhere';
}

describe('focus auto', function () {
  // Jimp takes a while for each.
  this.timeout(60_000);

  const engines = [engineBench('sharp'), engineBench('jimp')] as const;

  /** Where both engines cut this size out of a picture of that size; they must agree. */
  async function bothPlaces(bytes: Uint8Array, { width, height }: Size, scaled: Size): Promise<string> {
    const [one, other] = await Promise.all(
      engines.map(async (bench) => {
        const image = await bench.open(bytes);
        const part = await pixelsOf(image.resize({ width, height, focus: 'auto' }));
        expect(sizeOf(part)).to.deep.equal([width, height]);
        return placeOf(part, await pixelsOf(image.resize({ ...scaled, fit: 'fill' })));
      }),
    );
    expect(one).to.match(/\d/).and.equal(other);
    return String(one);
  }

  /** A square of a third of the picture's size. */
  const cutOf = ({ width, height }: Size) => {
    const side = Math.round(Math.min(width, height) / 3);
    const scaled = {
      width: Math.round((side * width) / Math.min(width, height)),
      height: Math.round((side * height) / Math.min(width, height)),
    };
    return [{ width: side, height: side }, scaled] as const;
  };

  for (const [kind, encode] of Object.entries({
    jpeg: (raster: Raster) => toSharp(raster).jpeg({ quality: 85 }),
    png: (raster: Raster) => toSharp(raster).png(),
    webp: (raster: Raster) => toSharp(raster).webp({ quality: 85 }),
  })) {
    it(`is the same pixel with both engines, of a ${kind}`, async () => {
      for (let index = 0; index < sceneCount; index += 2) {
        const { raster } = drawScene(index);
        await bothPlaces(await encode(raster).toBuffer(), ...cutOf(raster));
      }
    });
  }

  const subject = (x: number, y: number) => Math.hypot(x - 180, y - 60) < 40;
  const blot = paint(240, 120, (x, y) => (subject(x, y) ? [200, 30, 40, 255] : [0, 0, 0, 0]));

  it('is that of what is there in a transparent picture, in each format that it is written in', async () => {
    expect(await bothPlaces(await pngOf(blot), ...cutOf(blot))).to.equal('40,0');
    for (const bench of engines) {
      for (const format of ['png', 'jpg', 'webp'] as const) {
        const cut = await bench.run(
          blot,
          (image) => image.resize({ width: 40, height: 40, focus: 'auto' }),
          format,
        );
        // The blot's middle is at 60 of 80.
        expect([cut.width, cut.data[(20 * 40 + 20) * cut.channels]], format).to.satisfy(
          ([width, red]: number[]) => width === 40 && Math.abs((red ?? 0) - 200) < 12,
        );
      }
    }
  });

  it('is of the upright picture', async () => {
    const { raster: upright } = drawScene(0);
    const [size, scaled] = cutOf(upright);
    const place = await bothPlaces(await toSharp(upright).jpeg({ quality: 95 }).toBuffer(), size, scaled);
    for (const orientation of [3, 6]) {
      const stored = toSharp(storeTurned(upright, orientation)).withMetadata({ orientation });
      expect(await bothPlaces(await stored.jpeg({ quality: 95 }).toBuffer(), size, scaled)).to.equal(place);
    }
  });

  it('is where it was before a picture is enlarged', async () => {
    const place = await bothPlaces(
      await pngOf(blot),
      { width: 120, height: 120 },
      { width: 240, height: 120 },
    );
    for (const bench of engines) {
      const image = await bench.open(blot);
      const large = await pixelsOf(image.resize({ width: 240, height: 240, focus: 'auto' }));
      const left = placeOf(large, await pixelsOf(image.resize({ width: 480, height: 240 })));
      expect(Number.parseInt(left, 10)).to.equal(2 * Number.parseInt(place, 10));
    }
  });

  it('is the first frame’s for all of an animation', async () => {
    const frames = [40, 120, 200].map((at) =>
      paint(240, 60, (x, y) => (Math.hypot(x - at, y - 30) < 20 ? [220, 40, 30] : [x, 120, y])),
    );
    const bytes = await toSharp(film(frames)).webp({ lossless: true }).toBuffer();
    const sizes = [
      { width: 60, height: 60 },
      { width: 240, height: 60 },
    ] as const;
    const place = await bothPlaces(bytes, ...sizes);
    const [sharpBench] = engines;
    const image = await sharpBench.open(bytes);
    const [left = 0, top = 0] = place.split(',').map(Number);
    const encoded = async (made: Image) => Buffer.from((await made.encode('webp')).body);
    const byHand = await encoded(image.crop({ left, top, ...sizes[0] }));
    expect((await encoded(image.resize({ ...sizes[0], focus: 'auto' }))).equals(byHand)).to.equal(true);
    expect((await sharp(byHand).metadata()).pages).to.be.above(1);
  });

  it('counts the picture that it cuts from against the limits', async () => {
    const [bench] = engines;
    const image = await bench.open(quadrants(200, 10));
    const large = { width: 500, height: 500 };
    const error = await image
      .resize({ ...large, focus: 'auto' })
      .encode('png')
      .catch((each) => each);
    expect(error.code).to.equal('image_too_large');
    expect(500 * 500).to.be.below(limits.maxPixels);
  });
});
