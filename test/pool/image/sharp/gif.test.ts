import { expect } from 'chai';
import sharp from 'sharp';
import type { Image, ImageEngine } from '../../../../pool/image/engine.js';
import { makeEngine } from '../engines.js';
import { distance, frameColors, limits, paint, toSharp } from '../pictures.js';

const timing = { delay: [100, 250, 400], loop: 3 };
const ink = { text: 'Wi', position: 'top-left', opacity: 1, fontSize: 12, color: '#ffffff' } as const;

/** Frames of 40 × 24 in one colour each, clear in their right half. */
function halves(colors = frameColors) {
  const frames = colors.map((color) => paint(40, 24, (x) => (x < 20 ? [...color, 255] : [0, 0, 0, 0])).data);
  return toSharp({ data: Buffer.concat(frames), width: 40, height: 24, channels: 4, frames: colors.length });
}

interface Step {
  recipe: (image: Image) => Image;
  size: [number, number];
  /** A place that shows the frame's colour, and one that is clear. */
  filled: [number, number];
  clear?: [number, number];
}

const steps: Record<string, Step> = {
  nothing: { recipe: (image) => image, size: [40, 24], filled: [5, 12], clear: [35, 12] },
  'a border': {
    recipe: (image) => image.border({ width: 6, color: '#123456' }),
    size: [52, 36],
    filled: [11, 18],
    clear: [40, 18],
  },
  'another size': {
    recipe: (image) => image.resize({ width: 80 }),
    size: [80, 48],
    filled: [10, 24],
    clear: [70, 24],
  },
  'a watermark': {
    recipe: (image) => image.watermark(ink),
    size: [40, 24],
    filled: [18, 22],
    clear: [35, 22],
  },
  'a turn': { recipe: (image) => image.rotate(90), size: [24, 40], filled: [12, 5], clear: [12, 35] },
  'any angle': { recipe: (image) => image.rotate(30), size: [47, 41], filled: [16, 18], clear: [0, 0] },
  'a crop': {
    recipe: (image) => image.crop({ left: 10, top: 4, width: 20, height: 10 }),
    size: [20, 10],
    filled: [4, 5],
    clear: [16, 5],
  },
  'an overlay': {
    recipe: (image) => image.composite(image.crop({ left: 0, top: 0, width: 5, height: 5 }), { left: 30 }),
    size: [40, 24],
    filled: [5, 12],
    clear: [39, 20],
  },
};

/** Each frame as red, green, blue and alpha. */
async function framesOf(body: Uint8Array) {
  const { pages = 1, width } = await sharp(body).metadata();
  return Promise.all(
    Array.from({ length: pages }, async (_, page) => {
      const data = await sharp(body, { page }).ensureAlpha().raw().toBuffer();
      return ([x, y]: [number, number]) => [...data.subarray(4 * (y * width + x), 4 * (y * width + x) + 4)];
    }),
  );
}

describe('a gif that stays one', () => {
  let engine: ImageEngine;
  before(async () => {
    engine = await makeEngine('sharp');
  });

  for (const [what, { recipe, size, filled, clear }] of Object.entries(steps)) {
    it(`keeps frames, delays, loops and what is clear after ${what}`, async () => {
      const image = recipe(await engine.open(await halves().gif(timing).toBuffer(), limits));
      const { body, type } = await image.encode('same');
      expect(type).to.equal('image/gif');
      expect(Buffer.from(body).toString('latin1', 0, 6)).to.equal('GIF89a');
      const { pages, delay, loop, width, height } = await sharp(body).metadata();
      expect({ pages, delay, loop, size: [width, height] }).to.deep.equal({ pages: 3, ...timing, size });
      for (const [page, at] of (await framesOf(body)).entries()) {
        expect(distance(at(filled), [...(frameColors[page] ?? []), 255]), `frame ${page}`).to.be.at.most(8);
        if (clear) expect(at(clear)[3], `frame ${page}`).to.equal(0);
      }
    });
  }

  it('has the colours of its border and its text beside its own', async () => {
    const image = await engine.open(await halves().gif(timing).toBuffer(), limits);
    const { body } = await image
      .border({ width: 6, color: '#123456' })
      .watermark({ ...ink, fontSize: 20, color: '#ffff00' })
      .encode('same');
    for (const at of await framesOf(body)) {
      expect(distance(at([1, 34]), [0x12, 0x34, 0x56, 255])).to.be.at.most(2);
      const yellow = Array.from({ length: 52 * 36 }, (_, i) => at([i % 52, Math.floor(i / 52)]));
      expect(yellow.filter((pixel) => distance(pixel, [255, 255, 0, 255]) < 16)).to.have.length.above(3);
    }
  });

  it('that is still keeps every pixel of its many colours', async () => {
    const source = paint(32, 32, (x, y) => [(x % 15) * 16, (y % 15) * 16, 77]);
    const image = await engine.open(await toSharp(source).gif().toBuffer(), limits);
    const { body, type } = await image.encode('same');
    expect(type).to.equal('image/gif');
    const { data } = await sharp(body).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    expect(Buffer.compare(data, Buffer.from(source.data))).to.equal(0);
  });

  it('plays once where its source did', async () => {
    const image = await engine.open(
      await halves()
        .gif({ ...timing, loop: 1 })
        .toBuffer(),
      limits,
    );
    const { body } = await image.rotate(90).encode('same');
    expect((await sharp(body).metadata()).loop).to.equal(1);
  });

  it('shows frames that are alike as one for as long as all of them', async () => {
    const [red, green] = frameColors;
    const source = await halves([red, red, green] as never)
      .gif({ ...timing, keepDuplicateFrames: true })
      .toBuffer();
    expect((await sharp(source).metadata()).pages).to.equal(3);
    const { body } = await (await engine.open(source, limits)).resize({ width: 20 }).encode('same');
    const { pages, delay } = await sharp(body).metadata();
    expect({ pages, delay }).to.deep.equal({ pages: 2, delay: [350, 400] });
  });

  it('is a webp of as many frames where its source was one', async () => {
    const image = await engine.open(await halves().webp(timing).toBuffer(), limits);
    const { body, type } = await image.border({ width: 1, color: '#000000' }).encode('same');
    const { pages, delay, loop } = await sharp(body).metadata();
    expect({ type, pages, delay, loop }).to.deep.equal({ type: 'image/webp', pages: 3, ...timing });
  });

  it('has its frames counted', async () => {
    const image = await engine.open(await halves().gif().toBuffer(), { maxPixels: 10_000, maxFrames: 3 });
    const error = await image
      .resize({ width: 80 })
      .encode('same')
      .catch((caught) => caught);
    expect(error).to.include({
      code: 'image_too_large',
      message: 'The result would be 80 × 48 × 3 frames = 11520 pixels; the limit is 10000.',
    });
  });

  it('has no quality', async () => {
    const image = await engine.open(await halves().gif().toBuffer(), limits);
    const error = await image.encode('same', { quality: 50 }).catch((caught) => caught);
    expect(error).to.deep.include({
      code: 'invalid_input',
      details: [
        { field: 'quality', problem: 'is for jpg, webp and avif; the picture is a gif, and has none' },
      ],
    });
  });

  it('gives bytes that can be moved to another thread', async () => {
    const { body } = await (await engine.open(await halves().gif().toBuffer(), limits)).encode('same');
    expect(body.byteLength).to.equal(body.buffer.byteLength);
    expect(() => structuredClone(body, { transfer: [body.buffer as ArrayBuffer] })).to.not.throw();
  });
});
