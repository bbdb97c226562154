import { crc32 as crcOf } from 'node:zlib';
import { expect } from 'chai';
import { decodeBySharp } from '../decoders.js';
import { imageEngineTests } from '../engine-contract.js';
import { makeEngine } from '../engines.js';
import { animation, colorAt, distance, frameColors, limits, paint, toSharp } from '../pictures.js';

imageEngineTests('jimp', () => makeEngine('jimp'), decodeBySharp);

describe('createJimpEngine', () => {
  for (const format of ['gif', 'webp'] as const) {
    it(`gives the first frame of an animated ${format} as webp`, async () => {
      const image = await (await makeEngine('jimp')).open(
        await animation().toFormat(format).toBuffer(),
        limits,
      );
      expect(image.frames).to.equal(1);
      const raster = await decodeBySharp((await image.encode('webp')).body);
      expect([raster.width, raster.height]).to.deep.equal([40, 24]);
      expect(distance(colorAt(raster, 0.5, 0.5), frameColors[0])).to.be.at.most(10);
    });
  }

  it('refuses an interlaced png that unpacks to more than its header says', async () => {
    const bomb = await toSharp(paint(3000, 300, () => [0, 0, 0]))
      .png({ progressive: true })
      .toBuffer();
    bomb.writeUInt32BE(8, 16);
    bomb.writeUInt32BE(8, 20);
    bomb.writeUInt32BE(crcOf(bomb.subarray(12, 29)), 29);
    const image = await (await makeEngine('jimp')).open(bomb, limits);
    const error = await image.encode('png').catch((caught) => caught);
    expect(error).to.include({ code: 'bad_image' });
    expect(error.cause.code).to.equal('ERR_BUFFER_TOO_LARGE');
  });

  it('takes a png with bytes after its end', async () => {
    const png = await toSharp(paint(8, 8, () => [1, 2, 3]))
      .png()
      .toBuffer();
    const image = await (await makeEngine('jimp')).open(Buffer.concat([png, Buffer.alloc(40)]), limits);
    expect((await image.encode('png')).type).to.equal('image/png');
  });
});
