import { expect } from 'chai';
import sharp from 'sharp';
import type { ImageEngine } from '../../../../pool/image/engine.js';
import { example, psnr } from '../contract/examples.js';
import { decodeBySharp } from '../decoders.js';
import { makeEngine } from '../engines.js';
import { animation, distance, frameColors, limits, paint, toSharp } from '../pictures.js';

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
    const image = await open(await toSharp(half).png().toBuffer());
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
    const line = await engine.open(
      await toSharp(paint(8192, 1, () => [9, 99, 9]))
        .png()
        .toBuffer(),
      {
        ...limits,
        maxPixels: 1e8,
      },
    );
    const long = line.resize({ width: 16_383, height: 1, fit: 'fill' });
    const longest = long
      .border({ width: 1, color: '#000000' })
      .crop({ left: 0, top: 0, width: 16_384, height: 3 });
    const raster = await decode((await longest.encode('avif')).body);
    expect([raster.width, raster.height]).to.deep.equal([16_384, 3]);
    const error = await long
      .border({ width: 1, color: '#000000' })
      .encode('avif')
      .catch((caught) => caught);
    expect(error).to.include({
      code: 'image_too_large',
      message: 'The result would be 16385 × 3 pixels; an avif holds at most 16384 on a side.',
    });
  });

  it('is not taken in', async () => {
    const { body } = await (await open(await example())).encode('avif');
    const error = await open(body).catch((caught) => caught);
    expect(error).to.include({ code: 'bad_image' });
    const direct = await sharp(body)
      .metadata()
      .catch((caught) => caught);
    expect(direct).to.be.instanceOf(Error);
  });

  it('gives bytes that can be moved to another thread', async () => {
    const { body } = await (await open(await example())).encode('avif');
    expect(body.byteLength).to.equal(body.buffer.byteLength);
    expect(() => structuredClone(body, { transfer: [body.buffer as ArrayBuffer] })).to.not.throw();
  });
});
