import { expect } from 'chai';
import sharp from 'sharp';
import { rings } from '../contract/examples.js';
import { decodeByJimp, decodeBySharp } from '../decoders.js';
import { makeEngine } from '../engines.js';
import { colorAt, distance, limits, paint, toSharp } from '../pictures.js';

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
