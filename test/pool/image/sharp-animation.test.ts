import { expect } from 'chai';
import sharp from 'sharp';
import type { Image } from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import { decodeBySharp, engineBench } from './engines.js';
import {
  animation,
  distance,
  film,
  frameColors,
  paint,
  pixelAt,
  pixelsOf,
  rejectionOf,
  toSharp,
} from './pictures.js';

const timing = { delay: [100, 250, 400], loop: 3 };
const ink = { text: 'Wi', position: 'top-left', opacity: 1, fontSize: 12, color: '#ffffff' } as const;
const square = { left: 0, top: 0, width: 5, height: 5 };
const cut = { left: 10, top: 4, width: 20, height: 10 };

type Place = [x: number, y: number];
/** The size then, a place that shows the frame's colour, and one that is clear. */
type Step = [recipe: (image: Image) => Image, size: number[], filled: Place, clear: Place];

const steps: Record<string, Step> = {
  nothing: [(image) => image, [40, 24], [5, 12], [35, 12]],
  'a border': [(image) => image.border({ width: 6, color: '#123456' }), [52, 36], [11, 18], [40, 18]],
  'another size': [(image) => image.resize({ width: 80 }), [80, 48], [10, 24], [70, 24]],
  'a watermark': [(image) => image.watermark(ink), [40, 24], [5, 22], [35, 22]],
  'a turn': [(image) => image.rotate(90), [24, 40], [12, 5], [12, 35]],
  'any angle': [(image) => image.rotate(30), [47, 41], [16, 18], [0, 0]],
  'a crop': [(image) => image.crop(cut), [20, 10], [4, 5], [16, 5]],
  'an overlay': [(image) => image.composite(image.crop(square), { left: 30 }), [40, 24], [5, 12], [39, 20]],
};

/** Frames of 40 × 24 in one colour each, clear in their right half. */
function halves(colors: readonly (readonly number[])[] = frameColors) {
  const half = (color: readonly number[]) => (x: number) => (x < 20 ? [...color, 255] : [0, 0, 0, 0]);
  return toSharp(film(colors.map((color) => paint(40, 24, half(color)))));
}

async function framesOf(body: Uint8Array): Promise<Raster[]> {
  const { pages = 1, width, pageHeight = 0 } = await sharp(body, { pages: -1 }).metadata();
  const data = await sharp(body, { pages: -1 }).ensureAlpha().raw().toBuffer();
  const bytes = data.length / pages;
  const frame = { width, height: pageHeight, channels: 4, frames: 1 } as const;
  const framePixels = (_: unknown, i: number) => data.subarray(i * bytes, (i + 1) * bytes);
  return Array.from({ length: pages }, framePixels).map((data) => ({ ...frame, data }));
}

describe('an animation with sharp', () => {
  const bench = engineBench('sharp');

  for (const format of ['gif', 'webp'] as const) {
    for (const [what, [recipe, size, filled, clear]] of Object.entries(steps)) {
      it(`stays a ${format} with its frames, delays, loops and what is clear after ${what}`, async () => {
        const image = recipe(await bench.open(await halves().toFormat(format, timing).toBuffer()));
        expect([image.width, image.height, image.frames]).to.deep.equal([...size, 3]);
        const { body, type } = await image.encode('same', format === 'webp' ? { quality: 95 } : {});
        expect(type).to.equal(`image/${format}`);
        const { pages, delay, loop, width, height, ...found } = await sharp(body).metadata();
        expect(found.format).to.equal(format);
        expect({ pages, delay, loop, size: [width, height] }).to.deep.equal({ pages: 3, ...timing, size });
        for (const [page, frame] of (await framesOf(body)).entries()) {
          const color = [...(frameColors[page] ?? []), 255];
          expect(distance(pixelAt(frame, ...filled), color), `frame ${page}`).to.be.at.most(16);
          expect(pixelAt(frame, ...clear)[3], `frame ${page}`).to.equal(0);
        }
      });
    }
  }

  it('of a gif is one as webp too, and no frame runs into the next', async () => {
    const image = await bench.open(await animation().gif(timing).toBuffer());
    for (const recipe of [
      (i: Image) => i.resize({ width: 20 }),
      (i: Image) => i.resize({ width: 90 }),
      (i: Image) => i.resize({ width: 16, height: 16 }),
      (i: Image) => i.crop({ left: 1, top: 2, width: 30, height: 10 }).resize({ width: 30 }).rotate(-90),
    ]) {
      const { body } = await recipe(image).encode('webp', { quality: 95 });
      const { pages, delay, loop } = await sharp(body).metadata();
      expect({ pages, delay, loop }).to.deep.equal({ pages: 3, ...timing });
      for (const [page, frame] of (await framesOf(body)).entries()) {
        for (const pixel of pixelsOf(frame))
          expect(distance(pixel, frameColors[page] ?? [])).to.be.at.most(16);
      }
    }
  });

  it('has the first frame of what is laid over it on every frame', async () => {
    const other = await bench.open(await animation().webp({ lossless: true }).toBuffer());
    const overlay = other.crop({ left: 0, top: 0, width: 20, height: 24 });
    const image = await bench.open(await animation().gif().toBuffer());
    const { body } = await image.composite(overlay).encode('webp');
    for (const [page, frame] of (await framesOf(body)).entries()) {
      expect(distance(pixelAt(frame, 0, 0), frameColors[0])).to.be.at.most(16);
      expect(distance(pixelAt(frame, 39, 0), frameColors[page] ?? [])).to.be.at.most(16);
    }
  });

  it('that moves keeps what each frame shows', async () => {
    const moving = [0, 1, 2].map((step) =>
      paint(30, 30, (x) => (Math.floor(x / 10) === step ? [250, 0, 0] : [0, 0, 250])),
    );
    const image = await bench.open(await toSharp(film(moving)).webp({ lossless: true }).toBuffer());
    const { body } = await image.resize({ width: 60 }).encode('webp');
    for (const [page, frame] of (await framesOf(body)).entries()) {
      expect(distance(pixelAt(frame, 20 * page + 10, 30), [250, 0, 0])).to.be.at.most(40);
      expect(distance(pixelAt(frame, (20 * page + 30) % 60, 30), [0, 0, 250])).to.be.at.most(40);
    }
  });

  it('may have frames that together are taller than a webp can be', async () => {
    const frames = Array.from({ length: 40 }, (_, i) => paint(8, 500, (x) => [i * 6, x * 30, 9]));
    const image = await bench.open(await toSharp(film(frames)).gif().toBuffer());
    const { body } = await image.border({ width: 1, color: '#ffffff' }).encode('webp');
    expect((await sharp(body).metadata()).pages).to.equal(40);
  });
});

describe('a gif that stays one', () => {
  const bench = engineBench('sharp');

  it('has the colours of its border and its text beside its own', async () => {
    const image = await bench.open(await halves().gif(timing).toBuffer());
    const { body } = await image
      .border({ width: 6, color: '#123456' })
      .watermark({ ...ink, fontSize: 20, color: '#ffff00' })
      .encode('same');
    for (const frame of await framesOf(body)) {
      expect(distance(pixelAt(frame, 1, 34), [0x12, 0x34, 0x56, 255])).to.be.at.most(2);
      const yellow = pixelsOf(frame).filter((pixel) => distance(pixel, [255, 255, 0, 255]) < 16);
      expect(yellow).to.have.length.above(3);
    }
  });

  it('that is still keeps every pixel of its many colours', async () => {
    const source = paint(32, 32, (x, y) => [(x % 15) * 16, (y % 15) * 16, 77]);
    const image = await bench.open(await toSharp(source).gif().toBuffer());
    const { body, type } = await image.encode('same');
    expect(type).to.equal('image/gif');
    expect(pixelsOf(await decodeBySharp(body))).to.deep.equal(pixelsOf(source));
  });

  it('plays once where its source did', async () => {
    const image = await bench.open(await halves().gif({ loop: 1 }).toBuffer());
    const { body } = await image.rotate(90).encode('same');
    expect((await sharp(body).metadata()).loop).to.equal(1);
  });

  it('shows frames that are alike as one for as long as all of them', async () => {
    const [red, green] = frameColors;
    const alike = halves([red, red, green]).gif({ ...timing, keepDuplicateFrames: true });
    const image = await bench.open(await alike.toBuffer());
    expect(image.frames).to.equal(3);
    const { body } = await image.resize({ width: 20 }).encode('same');
    const { pages, delay } = await sharp(body).metadata();
    expect({ pages, delay }).to.deep.equal({ pages: 2, delay: [350, 400] });
  });

  it('has its frames counted, and no quality', async () => {
    const image = await bench.open(await halves().gif().toBuffer(), { maxPixels: 10_000, maxFrames: 3 });
    expect(await rejectionOf(image.resize({ width: 80 }).encode('same'))).to.include({
      code: 'image_too_large',
      message: 'The result would be 80 × 48 × 3 frames = 11520 pixels; the limit is 10000.',
    });
    const { details } = await rejectionOf(image.encode('same', { quality: 50 }));
    const problem = 'is for jpg, webp and avif; the picture is a gif, and has none';
    expect(details).to.deep.equal([{ field: 'quality', problem }]);
  });
});
