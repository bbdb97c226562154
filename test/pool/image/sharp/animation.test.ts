import { expect } from 'chai';
import sharp from 'sharp';
import type { Image, ImageEngine } from '../../../../pool/image/engine.js';
import { makeEngine } from '../engines.js';
import { animation, distance, frameColors, limits, paint, toSharp } from '../pictures.js';

const timing = { delay: [100, 250, 400], loop: 3 };

const recipes: Record<string, [size: [number, number], recipe: (image: Image) => Image]> = {
  'made smaller': [[20, 12], (image) => image.resize({ width: 20 })],
  'made larger': [[90, 54], (image) => image.resize({ width: 90 })],
  'filled into a square': [[16, 16], (image) => image.resize({ width: 16, height: 16 })],
  'cut out': [[10, 8], (image) => image.crop({ left: 30, top: 16, width: 10, height: 8 })],
  'turned by 90': [[24, 40], (image) => image.rotate(90)],
  'cut out, resized and turned': [
    [10, 30],
    (image) => image.crop({ left: 1, top: 2, width: 30, height: 10 }).resize({ width: 30 }).rotate(-90),
  ],
};

describe('an animation with sharp', () => {
  let engine: ImageEngine;
  before(async () => {
    engine = await makeEngine('sharp');
  });

  /** Each frame's every pixel, red, green, blue and alpha. */
  async function framesOf(body: Uint8Array): Promise<number[][][]> {
    const { pages = 1 } = await sharp(body).metadata();
    return Promise.all(
      Array.from({ length: pages }, async (_, page) => {
        const data = await sharp(body, { page }).ensureAlpha().raw().toBuffer();
        return Array.from({ length: data.length / 4 }, (__, i) => [...data.subarray(i * 4, i * 4 + 4)]);
      }),
    );
  }

  for (const format of ['gif', 'webp'] as const) {
    for (const [what, [[width, height], recipe]] of Object.entries(recipes)) {
      it(`from a ${format} stays one when it is ${what}, and no frame runs into the next`, async () => {
        const source = await animation().toFormat(format, timing).toBuffer();
        const image = recipe(await engine.open(source, limits));
        expect([image.width, image.height, image.frames]).to.deep.equal([width, height, 3]);
        const { body } = await image.encode('webp', { quality: 95 });
        const { pages, delay, loop, width: w, height: h } = await sharp(body).metadata();
        expect({ pages, delay, loop, w, h }).to.deep.equal({ pages: 3, ...timing, w: width, h: height });
        for (const [page, pixels] of (await framesOf(body)).entries()) {
          for (const pixel of pixels) expect(distance(pixel, frameColors[page] ?? [])).to.be.at.most(16);
        }
      });
    }
  }

  it('has the first frame of what is laid over it on every frame', async () => {
    const image = await engine.open(await animation().gif().toBuffer(), limits);
    const other = await engine.open(await animation().webp({ lossless: true }).toBuffer(), limits);
    const { body } = await image
      .composite(other.crop({ left: 0, top: 0, width: 20, height: 24 }))
      .encode('webp');
    for (const [page, pixels] of (await framesOf(body)).entries()) {
      expect(distance(pixels[0] ?? [], frameColors[0])).to.be.at.most(16);
      expect(distance(pixels[39] ?? [], frameColors[page] ?? [])).to.be.at.most(16);
    }
  });

  it('turned by any angle is clear around on every frame', async () => {
    const clear = await animation().gif().toBuffer();
    const { body } = await (await engine.open(clear, limits)).rotate(30).encode('webp');
    for (const [page, pixels] of (await framesOf(body)).entries()) {
      const width = 47;
      expect(pixels[0]?.[3]).to.equal(0);
      expect(distance(pixels[21 * width + 23] ?? [], [...(frameColors[page] ?? []), 255])).to.be.at.most(16);
    }
  });

  it('that moves keeps what each frame shows', async () => {
    const moving = [0, 1, 2].map(
      (step) => paint(30, 30, (x) => (Math.floor(x / 10) === step ? [250, 0, 0] : [0, 0, 250])).data,
    );
    const source = toSharp({ data: Buffer.concat(moving), width: 30, height: 30, channels: 3, frames: 3 });
    const image = await engine.open(await source.webp({ lossless: true }).toBuffer(), limits);
    const { body } = await image.resize({ width: 60 }).encode('webp');
    for (const [page, pixels] of (await framesOf(body)).entries()) {
      expect(distance(pixels[30 * 60 + 20 * page + 10] ?? [], [250, 0, 0])).to.be.at.most(40);
      expect(distance(pixels[30 * 60 + ((20 * page + 30) % 60)] ?? [], [0, 0, 250])).to.be.at.most(40);
    }
  });
});
