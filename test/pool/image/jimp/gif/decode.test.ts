import { expect } from 'chai';
import fc from 'fast-check';
import { decodeFirstGifFrame } from '../../../../../pool/image/jimp/gif/decode.js';
import { decodeBySharp } from '../../decoders.js';
import { paint, toSharp } from '../../pictures.js';

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
