import { expect } from 'chai';
import sharp from 'sharp';
import type { Image, ImageEngine } from '../../../pool/image/engine.js';
import { makeEngine } from './engines.js';
import { animation, distance, frameColors, limits, paint, rejectionOf, toSharp } from './pictures.js';

describe('an animation with sharp', () => {
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

describe('a gif that stays one', () => {
  const timing = { delay: [100, 250, 400], loop: 3 };
  const ink = { text: 'Wi', position: 'top-left', opacity: 1, fontSize: 12, color: '#ffffff' } as const;

  /** Frames of 40 × 24 in one colour each, clear in their right half. */
  function halves(colors = frameColors) {
    const frames = colors.map(
      (color) => paint(40, 24, (x) => (x < 20 ? [...color, 255] : [0, 0, 0, 0])).data,
    );
    return toSharp({
      data: Buffer.concat(frames),
      width: 40,
      height: 24,
      channels: 4,
      frames: colors.length,
    });
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
    const error = await rejectionOf(image.resize({ width: 80 }).encode('same'));
    expect(error).to.include({
      code: 'image_too_large',
      message: 'The result would be 80 × 48 × 3 frames = 11520 pixels; the limit is 10000.',
    });
  });

  it('has no quality', async () => {
    const image = await engine.open(await halves().gif().toBuffer(), limits);
    const error = await rejectionOf(image.encode('same', { quality: 50 }));
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
