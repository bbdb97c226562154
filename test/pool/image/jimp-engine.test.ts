import { crc32 as crcOf } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { decodeFirstGifFrame } from '../../../pool/image/jimp-gif.js';
import { imageEngineTests } from './engine-contract.js';
import { decodeBySharp, makeEngine } from './engines.js';
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
    const error = await rejectionOf(image.encode('png'));
    expect(error).to.include({ code: 'bad_image' });
    expect(error.cause.code).to.equal('ERR_BUFFER_TOO_LARGE');
  });

  it('takes a png with bytes after its end', async () => {
    const png = await pngOf(paint(8, 8, () => [1, 2, 3]));
    const image = await (await makeEngine('jimp')).open(Buffer.concat([png, Buffer.alloc(40)]), limits);
    expect((await image.encode('png')).type).to.equal('image/png');
  });
});

const noisy = (width: number, height: number) =>
  paint(width, height, (x, y) => [(x * 31) ^ (y * 17), x * y, x + y].map((v) => v & 0xe0));

describe('decodeFirstGifFrame', () => {
  for (const progressive of [false, true]) {
    for (const [width, height] of [
      [1, 1],
      [7, 3],
      [64, 40],
      [301, 203],
    ] as const) {
      it(`reads ${progressive ? 'interlaced ' : ''}${width} × ${height} as libvips does`, async () => {
        const gif = await toSharp(noisy(width, height)).gif({ progressive }).toBuffer();
        const expected = await decodeBySharp(gif);
        expect(Buffer.from(decodeFirstGifFrame(gif, width, height).data).equals(expected.data)).to.equal(
          true,
        );
      });
    }
  }

  it('keeps transparent pixels transparent', async () => {
    const gif = await toSharp(paint(20, 20, (x) => [200, 0, 0, x < 10 ? 0 : 255]))
      .gif()
      .toBuffer();
    const { data } = decodeFirstGifFrame(gif, 20, 20);
    expect([data[3], data[19 * 4 + 3]]).to.deep.equal([0, 255]);
  });

  it('ends on any stream, with pixels or an error', async () => {
    const gif = await toSharp(noisy(40, 30)).gif().toBuffer();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(gif.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
        (changes) => {
          const broken = Buffer.from(gif);
          for (const [at, value] of changes) if (at > 12) broken[at] = value;
          try {
            decodeFirstGifFrame(broken, 40, 30);
          } catch (error) {
            expect(error).to.be.instanceOf(Error);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
