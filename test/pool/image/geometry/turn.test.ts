import { expect } from 'chai';
import fc from 'fast-check';
import { turnRaster } from '../../../../pool/image/geometry/turn.js';
import type { Orientation } from '../../../../pool/image/header/header.js';
import { pixelAt, pixelsOf, pixelsWhere, rasters } from './rasters.js';

/** Where the pixel that is shown at (x, y) stands in a stored picture of w × h; EXIF 2.32, tag 0x0112, as formulas. */
const stored: Record<Orientation, (x: number, y: number, w: number, h: number) => [x: number, y: number]> = {
  1: (x, y) => [x, y],
  2: (x, y, w) => [w - 1 - x, y],
  3: (x, y, w, h) => [w - 1 - x, h - 1 - y],
  4: (x, y, _w, h) => [x, h - 1 - y],
  5: (x, y) => [y, x],
  6: (x, y, _w, h) => [y, h - 1 - x],
  7: (x, y, w, h) => [w - 1 - y, h - 1 - x],
  8: (x, y, w) => [w - 1 - y, x],
};

describe('turnRaster', () => {
  for (const [name, place] of Object.entries(stored)) {
    const orientation = Number(name) as Orientation;
    it(`shows orientation ${orientation} upright, each frame by itself`, () => {
      fc.assert(
        fc.property(rasters(), (raster) => {
          const turned = turnRaster(raster, orientation);
          const swap = orientation > 4;
          expect(turned.width).to.equal(swap ? raster.height : raster.width);
          expect(turned.height).to.equal(swap ? raster.width : raster.height);
          const expected = pixelsWhere(turned, (frame, x, y) =>
            pixelAt(raster, frame, ...place(x, y, raster.width, raster.height)),
          );
          expect(pixelsOf(turned)).to.deep.equal(expected);
        }),
      );
    });
  }

  it('takes pixels that do not begin at a word', () => {
    const data = new Uint8Array([0, 1, 2, 3, 4, 5, 6, 7, 8]).subarray(1);
    const turned = turnRaster({ data, width: 2, height: 1, channels: 4, frames: 1 }, 3);
    expect([...turned.data]).to.deep.equal([5, 6, 7, 8, 1, 2, 3, 4]);
  });
});
