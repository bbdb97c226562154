import { expect } from 'chai';
import fc from 'fast-check';
import { ImageError } from '../../../../pool/image/engine.js';
import { cropRaster } from '../../../../pool/image/geometry/crop.js';
import { pixelAt, pixelsOf, pixelsWhere, rasters } from './rasters.js';

const cuts = rasters().chain((raster) =>
  fc.record({ left: fc.nat(raster.width - 1), top: fc.nat(raster.height - 1) }).chain(({ left, top }) =>
    fc.record({
      raster: fc.constant(raster),
      left: fc.constant(left),
      top: fc.constant(top),
      width: fc.integer({ min: 1, max: raster.width - left }),
      height: fc.integer({ min: 1, max: raster.height - top }),
    }),
  ),
);

describe('cropRaster', () => {
  it('gives the pixels of the rectangle, of every frame', () => {
    fc.assert(
      fc.property(cuts, ({ raster, ...rectangle }) => {
        const cut = cropRaster(raster, rectangle);
        const expected = pixelsWhere(cut, (frame, x, y) =>
          pixelAt(raster, frame, rectangle.left + x, rectangle.top + y),
        );
        expect([cut.width, cut.height, cut.frames]).to.deep.equal([
          rectangle.width,
          rectangle.height,
          raster.frames,
        ]);
        expect(pixelsOf(cut)).to.deep.equal(expected);
      }),
    );
  });

  it('shows nothing beyond a picture that is smaller than was said', () => {
    const raster = { data: new Uint8Array(27), width: 3, height: 3, channels: 3 as const, frames: 1 };
    expect(() => cropRaster(raster, { left: 1, top: 0, width: 3, height: 1 })).to.throw(ImageError);
    expect(() => cropRaster(raster, { left: 0, top: 3, width: 1, height: 1 })).to.throw(ImageError);
  });
});
