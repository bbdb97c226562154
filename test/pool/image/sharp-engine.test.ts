import { expect } from 'chai';
import sharp, { type Sharp } from 'sharp';
import { ImageError } from '../../../pool/image/engine.js';
import { withAlpha } from '../../../pool/image/raster.js';
import { sharpFault } from '../../../pool/image/sharp-engine.js';
import { imageEngineTests } from './engine-contract.js';
import { decodeBySharp, engineBench, example, formats, psnr, rings } from './engines.js';
import {
  animation,
  colorAt,
  distance,
  frameColors,
  limits,
  paint,
  pixelAt,
  plain,
  rejectionOf,
  sizeOf,
  toSharp,
} from './pictures.js';

imageEngineTests('sharp');

describe('createSharpEngine', () => {
  const bench = engineBench('sharp');
  const red = [200, 40, 30];

  it('reads 16 bit with an sRGB profile as sRGB', async () => {
    const deep = toSharp(plain(8, 8, red))
      .toColourspace('rgb16')
      .withIccProfile('srgb');
    expect(distance(colorAt(await bench.run(await deep.png().toBuffer()), 0.5, 0.5), red)).to.be.at.most(2);
  });

  for (const format of ['jpeg', 'png'] as const) {
    it(`converts the wide profile of a ${format} to sRGB, resized or not`, async () => {
      const wide = toSharp(plain(400, 300, red)).withIccProfile('p3');
      const source = await wide.toFormat(format, { quality: 95 }).toBuffer();
      for (const output of formats) {
        for (const width of [20, 400]) {
          const raster = await bench.run(source, (image) => image.resize({ width }), output);
          expect(distance(colorAt(raster, 0.5, 0.5), red), `${output} ${width}`).to.be.at.most(6);
        }
      }
    });
  }

  const gradient = (x: number, y: number) => [x * 4, y * 5, (x * y) & 255];
  const picture = () => toSharp(paint(60, 50, gradient));
  const pictures = {
    grey: () => picture().toColourspace('b-w').png(),
    clear: () => toSharp(paint(60, 50, (x, y) => [...gradient(x, y), (x + y) & 255])).png(),
    'of 16 bit': () => picture().toColourspace('rgb16').png(),
    'of four inks': () => picture().toColourspace('cmyk').jpeg(),
    'of a palette': () => picture().gif(),
  };
  for (const [what, make] of Object.entries(pictures)) {
    it(`draws in decoded pixels the border that libvips draws around a picture that is ${what}`, async () => {
      const source = await make().toBuffer();
      const image = await bench.open(source);
      const { body } = await image.border({ width: 3, color: '#800080' }).encode('png');
      const byVips = sharp(source).extend({ top: 3, right: 3, bottom: 3, left: 3, background: '#800080' });
      if (what !== 'of four inks') byVips.pipelineColourspace('srgb');
      const pixels = (image: Sharp) => image.ensureAlpha().raw().toBuffer();
      expect(await pixels(sharp(body))).to.deep.equal(await pixels(byVips));
    });
  }

  it('packs a large drawing without loss', async () => {
    const drawing = paint(600, 400, (x, y) => (x % 9 && y % 7 ? [9, 99, 199] : [0, 0, 0]));
    expect(Buffer.from((await bench.run(drawing)).data).equals(withAlpha(drawing).data)).to.equal(true);
  });

  it('drops all metadata', async () => {
    const source = toSharp(plain(16, 16, red))
      .withMetadata({ orientation: 6 })
      .withIccProfile('p3');
    const image = await bench.open(await source.jpeg().toBuffer());
    for (const format of formats) {
      const { exif, icc, orientation } = await sharp((await image.encode(format)).body).metadata();
      expect([exif, icc, orientation], format).to.deep.equal([undefined, undefined, undefined]);
    }
  });

  it('leaves no loader but those of its formats open', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    expect(await rejectionOf(sharp(svg).png().toBuffer())).to.be.instanceOf(Error);
  });

  it('decodes a jpeg that is resized first at a fraction of its size, but not at all of it', async () => {
    const picture = sharp(await rings());
    const jpeg = await picture.jpeg({ quality: 95 }).toBuffer();
    const size = { width: 60, height: 40 };
    const { body } = await (await bench.open(jpeg)).resize(size).encode('png');
    const pixels = (await decodeBySharp(body)).data;
    const byVips = async (fastShrinkOnLoad: boolean, whole = false) => {
      const image = sharp(jpeg).resize({ ...size, fit: 'fill', fastShrinkOnLoad });
      return (whole ? image.pipelineColourspace('srgb') : image).ensureAlpha().raw().toBuffer();
    };
    expect((await byVips(false)).equals(pixels)).to.equal(true);
    expect((await byVips(true)).equals(pixels)).to.equal(false);
    expect((await byVips(false, true)).equals(pixels)).to.equal(false);
  });
});

describe('an avif by sharp', () => {
  const bench = engineBench('sharp');

  it('shows what the picture shows, in fewer bytes than a jpg or a webp', async () => {
    const image = await bench.open(await example());
    const { body, type } = await image.encode('avif');
    expect(type).to.equal('image/avif');
    expect(Buffer.from(body).toString('latin1', 4, 12)).to.equal('ftypavif');
    for (const other of ['jpg', 'webp'] as const) {
      expect(body.byteLength).to.be.lessThan((await image.encode(other)).body.byteLength);
    }
    expect(psnr(await decodeBySharp(body), await decodeBySharp(await example()))).to.be.at.least(33);
  });

  it('keeps what is clear, and has what was done to the picture', async () => {
    const image = await bench.open(paint(64, 64, (x) => (x < 32 ? [200, 40, 40, 255] : [0, 0, 0, 0])));
    const framed = image.border({ width: 8, color: '#0000ff' }).rotate(90);
    const raster = await decodeBySharp((await framed.encode('avif', { quality: 95 })).body);
    expect(sizeOf(raster)).to.deep.equal([80, 80]);
    expect(distance(pixelAt(raster, 3, 40), [0, 0, 255, 255])).to.be.at.most(16);
    expect(distance(pixelAt(raster, 40, 20), [200, 40, 40, 255])).to.be.at.most(16);
    expect(pixelAt(raster, 40, 60)[3]).to.be.at.most(8);
  });

  it('has the first frame of an animation', async () => {
    const image = await bench.open(await animation().gif().toBuffer());
    const raster = await decodeBySharp((await image.resize({ width: 80 }).encode('avif')).body);
    expect(sizeOf(raster)).to.deep.equal([80, 48]);
    expect(distance(pixelAt(raster, 0, 0), frameColors[0])).to.be.at.most(16);
  });

  it('may be 16384 pixels on a side, and no more', async () => {
    const line = await bench.open(plain(8192, 1, [9, 99, 9]), { ...limits, maxPixels: 1e8 });
    const wide = line.resize({ width: 16_383, height: 1, fit: 'fill' });
    const long = wide.border({ width: 1, color: '#000000' });
    const longest = long.crop({ left: 0, top: 0, width: 16_384, height: 3 });
    expect(sizeOf(await decodeBySharp((await longest.encode('avif')).body))).to.deep.equal([16_384, 3]);
    expect(await rejectionOf(long.encode('avif'))).to.include({
      code: 'image_too_large',
      message: 'The result would be 16385 × 3 pixels; an avif holds at most 16384 on a side.',
    });
  });
});

describe('sharpFault', () => {
  it('is a timeout, more pixels than the header says, or a broken picture, in words of its own', () => {
    for (const [message, code, isOfPicture] of [
      ['timeout: 42% complete', 'helper_timeout', false],
      ['Input image exceeds pixel limit', 'image_too_large', true],
      ['VipsJpeg: premature end of JPEG image', 'bad_image', true],
    ] as const) {
      const cause = new Error(message);
      const kind = isOfPicture ? ImageError : Error;
      const thrown = expect(() => sharpFault(cause)).to.throw(kind, /^(?!.*(Vips|exceeds|42%))/);
      thrown.that.includes({ code, cause });
    }
  });
});
