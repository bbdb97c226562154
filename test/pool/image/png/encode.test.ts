import { expect } from 'chai';
import fc from 'fast-check';
import { encodePng } from '../../../../pool/image/png/encode.js';
import type { FilterName } from '../../../../pool/image/png/filter.js';
import { decodeByJimp, decodeBySharp } from '../decoders.js';

const packings = ['huffman', 'runs', 'matches', 'thorough'] as const;
const filters: FilterName[] = ['none', 'sub', 'up', 'average'];

const rasters = fc
  .record({
    width: fc.integer({ min: 1, max: 20 }),
    height: fc.integer({ min: 1, max: 20 }),
    channels: fc.constantFrom(3, 4),
  })
  .chain(({ width, height, channels }) => {
    const length = width * height * channels;
    return fc.uint8Array({ minLength: length, maxLength: length }).map((data) => ({
      data,
      width,
      height,
      channels: channels as 3 | 4,
      frames: 1,
    }));
  });

describe('encodePng', () => {
  for (const filter of filters) {
    for (const packing of packings) {
      it(`with ${filter} and ${packing} is read back to the same pixels by two decoders`, async () => {
        await fc.assert(
          fc.asyncProperty(rasters, async (raster) => {
            const png = encodePng(raster, { filter, packing });
            for (const decode of [decodeBySharp, decodeByJimp]) {
              const { data, width, height } = await decode(png);
              expect([width, height]).to.deep.equal([raster.width, raster.height]);
              const expected = [...raster.data].flatMap((value, i) =>
                raster.channels === 3 && i % 3 === 2 ? [value, 255] : [value],
              );
              expect([...data]).to.deep.equal(expected);
            }
          }),
          { numRuns: 15 },
        );
      });
    }
  }

  it('gives the same bytes for the same pixels', () => {
    const raster = {
      data: Buffer.alloc(3000, 'photo'),
      width: 100,
      height: 10,
      channels: 3 as const,
      frames: 1,
    };
    expect(Buffer.from(encodePng(raster)).equals(encodePng(raster))).to.equal(true);
  });
});
