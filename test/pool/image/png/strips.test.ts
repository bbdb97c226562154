import { inflateSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { encodePng } from '../../../../pool/image/png/encode.js';
import { findPacker, type Packer, stripBytes } from '../../../../pool/image/png/packer.js';
import type { Raster } from '../../../../pool/image/raster.js';
import { decodeByJimp, decodeBySharp } from '../decoders.js';
import { type Content, contents, drawRaster } from './pictures.js';

const packer = findPacker() as Packer;

function encode(raster: Raster): Uint8Array {
  return encodePng(raster, { packing: 'strips', packer });
}

async function expectSame(raster: Raster): Promise<void> {
  const png = encode(raster);
  const expected = withAlpha(raster);
  for (const decode of [decodeBySharp, decodeByJimp]) {
    const { data, width, height } = await decode(png);
    expect([width, height]).to.deep.equal([raster.width, raster.height]);
    expect(expected.equals(data), `${decode.name} of ${width} × ${height}`).to.equal(true);
  }
}

function withAlpha({ data, channels }: Raster): Buffer {
  if (channels === 4) return Buffer.from(data);
  const out = Buffer.alloc((data.length / 3) * 4, 255);
  for (let from = 0, to = 0; from < data.length; from += 3, to += 4)
    out.set(data.subarray(from, from + 3), to);
  return out;
}

const rasters = fc
  .record({
    width: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 700 })),
    height: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 300 })),
    channels: fc.constantFrom(3 as const, 4 as const),
    content: fc.constantFrom(...(Object.keys(contents) as Content[])),
    seed: fc.nat(),
  })
  .map(({ content, width, height, channels, seed }) => drawRaster(content, width, height, channels, seed));

describe('a PNG packed in strips', () => {
  it('is read back to the same pixels by two decoders', async () => {
    await fc.assert(fc.asyncProperty(rasters, expectSame), { numRuns: 60 });
  });

  for (const content of ['noise', 'gradient', 'sparse'] as const) {
    for (const [width, height] of [
      [1, 1],
      [1, 70_000],
      [70_000, 1],
      [33_000, 5],
      [2, 3],
    ] as const) {
      it(`may be ${width} × ${height}, of ${content}`, async () => {
        await expectSame(drawRaster(content, width, height, 4, 1));
      });
    }
  }

  it('has strips of a row that is longer than one', () => {
    expect(33_000 * 4).to.be.above(stripBytes);
  });

  it('lies in memory of its own', () => {
    const png = encode(drawRaster('noise', 10, 10, 3, 1));
    expect(png.byteLength).to.equal(png.buffer.byteLength);
  });

  it('takes hardly anything for what is flat', () => {
    const raster = drawRaster('flat', 1000, 1000, 3, 1);
    expect(encode(raster).length).to.be.below(raster.data.length / 300);
  });

  it('grows noise by less than a hundredth', () => {
    const raster = drawRaster('noise', 500, 500, 3, 1);
    expect(encode(raster).length).to.be.below(raster.data.length * 1.01);
  });

  it('begins anew, whatever one that was broken off left behind', async () => {
    packer.begin(packer.out.value + 3);
    packer.put(5, 3);
    await expectSame(drawRaster('photo', 90, 90, 3, 1));
  });

  it('is a stream that zlib inflates, with its checksum', () => {
    const raster = drawRaster('sparse', 640, 300, 4, 7);
    const png = Buffer.from(encode(raster));
    const at = png.indexOf('IDAT');
    const rows = inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
    expect(rows.length).to.equal(300 * (640 * 4 + 1));
  });
});
