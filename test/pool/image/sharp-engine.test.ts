import { expect } from 'chai';
import sharp, { type Sharp } from 'sharp';
import { type ImageEngine, ImageError } from '../../../pool/image/engine.js';
import { sharpFault } from '../../../pool/image/sharp-engine.js';
import { example, psnr, rings } from './contract/bench.js';
import { imageEngineTests } from './engine-contract.js';
import { decodeByJimp, decodeBySharp, makeEngine } from './engines.js';
import {
  animation,
  colorAt,
  distance,
  frameColors,
  limits,
  paint,
  pngOf,
  rejectionOf,
  toSharp,
} from './pictures.js';

imageEngineTests('sharp', () => makeEngine('sharp'), decodeByJimp);

describe('createSharpEngine', () => {
  for (const format of ['gif', 'webp'] as const) {
    for (const watermark of [false, true]) {
      it(`keeps a ${format} animated in webp ${watermark ? 'with a watermark' : 'with a border'}`, async () => {
        const timing = { delay: [100, 250, 400], loop: 3 };
        const source = await animation().toFormat(format, timing).toBuffer();
        const image = await (await makeEngine('sharp')).open(source, limits);
        expect(image.frames).to.equal(3);
        const bordered = image.border({ width: 8, color: '#ffffff' });
        const options = {
          text: 'x',
          position: 'top-left',
          opacity: 1,
          fontSize: 8,
          color: '#000000',
        } as const;
        const { body } = await (watermark ? bordered.watermark(options) : bordered).encode('webp');
        const { pages, delay, loop, width, height } = await sharp(body).metadata();
        expect({ pages, delay, loop, width, height }).to.deep.equal({
          pages: 3,
          ...timing,
          width: 56,
          height: 40,
        });
        for (const [page, color] of frameColors.entries()) {
          const { data } = await sharp(body, { page })
            .ensureAlpha()
            .raw()
            .toBuffer({ resolveWithObject: true });
          const raster = { data, width: 56, height: 40, channels: 4 as const, frames: 1 };
          expect(distance(colorAt(raster, 0.6, 0.6), color)).to.be.at.most(12);
          expect(distance(colorAt(raster, 0.99, 0.99), [255, 255, 255])).to.be.at.most(12);
        }
      });
    }
  }

  it('keeps an animation of frames that together are taller than a webp can be', async () => {
    const frames = 40;
    const data = Buffer.concat(
      Array.from({ length: frames }, (_, i) => paint(8, 500, (x) => [i * 6, x * 30, 9]).data),
    );
    const source = await toSharp({ data, width: 8, height: 500, channels: 3, frames }).gif().toBuffer();
    const { body } = await (await (await makeEngine('sharp')).open(source, limits))
      .border({ width: 1, color: '#ffffff' })
      .encode('webp');
    expect((await sharp(body).metadata()).pages).to.equal(frames);
  });

  it('reads 16 bit with an sRGB profile as sRGB', async () => {
    const red = toSharp(paint(8, 8, () => [200, 40, 30]));
    const source = await red.toColourspace('rgb16').withIccProfile('srgb').png().toBuffer();
    const { body } = await (await (await makeEngine('sharp')).open(source, limits)).encode('png');
    expect(distance(colorAt(await decodeByJimp(body), 0.5, 0.5), [200, 40, 30])).to.be.at.most(2);
  });

  it('converts a wide profile to sRGB', async () => {
    const source = await toSharp(paint(8, 8, () => [200, 40, 30]))
      .withIccProfile('p3')
      .png()
      .toBuffer();
    const { body } = await (await (await makeEngine('sharp')).open(source, limits)).encode('png');
    expect(distance(colorAt(await decodeByJimp(body), 0.5, 0.5), [200, 40, 30])).to.be.at.most(3);
  });

  describe('a border that is drawn in the decoded pixels', () => {
    const width = 3;
    const background = '#800080';
    const sides = { top: width, right: width, bottom: width, left: width };
    const color = (x: number, y: number) => [x * 4, y * 5, (x * y) & 255];
    const pictures = {
      grey: () =>
        toSharp(paint(60, 50, color))
          .toColourspace('b-w')
          .png(),
      clear: () => toSharp(paint(60, 50, (x, y) => [...color(x, y), (x + y) & 255])).png(),
      'of 16 bit': () =>
        toSharp(paint(60, 50, color))
          .toColourspace('rgb16')
          .png(),
      'of four inks': () =>
        toSharp(paint(60, 50, color))
          .toColourspace('cmyk')
          .jpeg(),
      'of a palette': () => toSharp(paint(60, 50, color)).gif(),
    };
    for (const [what, make] of Object.entries(pictures)) {
      it(`is that of libvips around a picture that is ${what}`, async () => {
        const source = await make().toBuffer();
        const image = await (await makeEngine('sharp')).open(source, limits);
        const { body } = await image.border({ width, color: background }).encode('png');
        const plain = sharp(source).extend({ ...sides, background });
        if (what !== 'of four inks') plain.pipelineColourspace('srgb');
        expect(await pixelsOf(sharp(body))).to.deep.equal(await pixelsOf(plain));
      });
    }
  });

  it('drops all metadata', async () => {
    const source = await toSharp(paint(16, 16, () => [1, 2, 3]))
      .withMetadata({ orientation: 6 })
      .withIccProfile('p3')
      .jpeg()
      .toBuffer();
    const image = await (await makeEngine('sharp')).open(source, limits);
    for (const format of ['png', 'jpg', 'webp'] as const) {
      const { exif, icc, orientation } = await sharp((await image.encode(format)).body).metadata();
      expect({ exif, icc, orientation }).to.deep.equal({
        exif: undefined,
        icc: undefined,
        orientation: undefined,
      });
    }
  });

  it('leaves no loader but the four open', async () => {
    await makeEngine('sharp');
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    const error = await rejectionOf(sharp(svg).png().toBuffer());
    expect(error).to.be.instanceOf(Error);
  });
});

function pixelsOf(image: Sharp): Promise<Buffer> {
  return image.ensureAlpha().raw().toBuffer();
}

describe('an avif by sharp', () => {
  let engine: ImageEngine;
  before(async () => {
    engine = await makeEngine('sharp');
  });

  /** The engine blocks what would read it back, for the whole process. */
  async function decode(body: Uint8Array) {
    sharp.unblock({ operation: ['VipsForeignLoadHeifBuffer'] });
    try {
      return await decodeBySharp(body);
    } finally {
      sharp.block({ operation: ['VipsForeignLoadHeifBuffer'] });
    }
  }

  const open = async (bytes: Uint8Array) => engine.open(bytes, limits);

  it('shows what the picture shows, in fewer bytes than a jpg or a webp', async () => {
    const image = await open(await example());
    const { body, type } = await image.encode('avif');
    expect(type).to.equal('image/avif');
    expect(Buffer.from(body).toString('latin1', 4, 12)).to.equal('ftypavif');
    for (const other of ['jpg', 'webp'] as const) {
      expect(body.byteLength).to.be.lessThan((await image.encode(other)).body.byteLength);
    }
    expect(psnr(await decode(body), await decodeBySharp(await example()))).to.be.at.least(33);
  });

  it('keeps what is clear, and has what was done to the picture', async () => {
    const half = paint(64, 64, (x) => (x < 32 ? [200, 40, 40, 255] : [0, 0, 0, 0]));
    const image = await open(await pngOf(half));
    const raster = await decode(
      (await image.border({ width: 8, color: '#0000ff' }).rotate(90).encode('avif', { quality: 95 })).body,
    );
    const at = (x: number, y: number) => [...raster.data.subarray(4 * (y * 80 + x), 4 * (y * 80 + x) + 4)];
    expect([raster.width, raster.height]).to.deep.equal([80, 80]);
    expect(distance(at(3, 40), [0, 0, 255, 255])).to.be.at.most(16);
    expect(distance(at(40, 20), [200, 40, 40, 255])).to.be.at.most(16);
    expect(at(40, 60)[3]).to.be.at.most(8);
  });

  it('is larger of a better quality', async () => {
    const image = await open(await example());
    const size = async (quality?: number) => (await image.encode('avif', { quality })).body.byteLength;
    expect(await size(20)).to.be.lessThan(await size());
    expect(await size(95)).to.be.greaterThan(await size());
  });

  it('has the first frame of an animation', async () => {
    const image = await open(await animation().gif().toBuffer());
    const raster = await decode((await image.resize({ width: 80 }).encode('avif')).body);
    expect([raster.width, raster.height]).to.deep.equal([80, 48]);
    expect(distance([...raster.data.subarray(0, 3)], frameColors[0])).to.be.at.most(16);
  });

  it('may be 16384 pixels on a side, and no more', async () => {
    const line = await engine.open(await pngOf(paint(8192, 1, () => [9, 99, 9])), {
      ...limits,
      maxPixels: 1e8,
    });
    const long = line.resize({ width: 16_383, height: 1, fit: 'fill' });
    const longest = long
      .border({ width: 1, color: '#000000' })
      .crop({ left: 0, top: 0, width: 16_384, height: 3 });
    const raster = await decode((await longest.encode('avif')).body);
    expect([raster.width, raster.height]).to.deep.equal([16_384, 3]);
    const error = await rejectionOf(long.border({ width: 1, color: '#000000' }).encode('avif'));
    expect(error).to.include({
      code: 'image_too_large',
      message: 'The result would be 16385 × 3 pixels; an avif holds at most 16384 on a side.',
    });
  });

  it('is not taken in', async () => {
    const { body } = await (await open(await example())).encode('avif');
    const error = await rejectionOf(open(body));
    expect(error).to.include({ code: 'bad_image' });
    const direct = await rejectionOf(sharp(body).metadata());
    expect(direct).to.be.instanceOf(Error);
  });

  it('gives bytes that can be moved to another thread', async () => {
    const { body } = await (await open(await example())).encode('avif');
    expect(body.byteLength).to.equal(body.buffer.byteLength);
    expect(() => structuredClone(body, { transfer: [body.buffer as ArrayBuffer] })).to.not.throw();
  });
});

function faultOf(message: string): unknown {
  try {
    return sharpFault(new Error(message));
  } catch (error) {
    return error;
  }
}

describe('sharpFault', () => {
  it('is helper_timeout where the native work took too long', () => {
    expect(faultOf('timeout: 42% complete'))
      .to.include({ code: 'helper_timeout' })
      .and.not.instanceOf(ImageError);
  });

  it('is image_too_large where more is decoded than the header said', () => {
    expect(faultOf('Input image exceeds pixel limit'))
      .to.be.instanceOf(ImageError)
      .and.include({ code: 'image_too_large' });
  });

  it("is bad_image for all else, without the library's words", () => {
    const error = faultOf('VipsJpeg: premature end of JPEG image') as ImageError;
    expect(error).to.include({ code: 'bad_image' });
    expect(error.message).to.not.include('Vips');
    expect((error.cause as Error).message).to.include('Vips');
  });
});

describe('a change of size with sharp', () => {
  it('that comes first has a jpeg decoded at a fraction of its size, but not at all of it', async () => {
    const jpeg = await sharp(await rings())
      .jpeg({ quality: 95 })
      .toBuffer();
    const size = { width: 60, height: 40 };
    const { body } = await (await (await makeEngine('sharp')).open(jpeg, limits)).resize(size).encode('png');
    const pixels = (await decodeBySharp(body)).data;
    const byLibvips = async (fastShrinkOnLoad: boolean, whole = false) => {
      const image = sharp(jpeg).resize({ ...size, fit: 'fill', fastShrinkOnLoad });
      return (whole ? image.pipelineColourspace('srgb') : image).ensureAlpha().raw().toBuffer();
    };
    expect((await byLibvips(false)).equals(pixels)).to.equal(true);
    expect((await byLibvips(true)).equals(pixels)).to.equal(false);
    expect((await byLibvips(false, true)).equals(pixels)).to.equal(false);
  });

  for (const format of ['jpeg', 'png'] as const) {
    it(`still converts the wide profile of a ${format} to sRGB`, async () => {
      const red = toSharp(paint(400, 300, () => [200, 40, 30])).withIccProfile('p3');
      const source = await red.toFormat(format, { quality: 95 }).toBuffer();
      for (const output of ['png', 'jpg', 'webp'] as const) {
        const image = await (await makeEngine('sharp')).open(source, limits);
        const raster = await decodeByJimp((await image.resize({ width: 20 }).encode(output)).body);
        expect(distance(colorAt(raster, 0.5, 0.5), [200, 40, 30])).to.be.at.most(6);
      }
    });
  }
});
