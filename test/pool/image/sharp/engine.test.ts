import { expect } from 'chai';
import sharp, { type Sharp } from 'sharp';
import { decodeByJimp } from '../decoders.js';
import { imageEngineTests } from '../engine-contract.js';
import { makeEngine } from '../engines.js';
import { animation, colorAt, distance, frameColors, limits, paint, toSharp } from '../pictures.js';

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
    const error = await sharp(svg)
      .png()
      .toBuffer()
      .catch((caught) => caught);
    expect(error).to.be.instanceOf(Error);
  });
});

function pixelsOf(image: Sharp): Promise<Buffer> {
  return image.ensureAlpha().raw().toBuffer();
}
