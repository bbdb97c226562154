import { expect } from 'chai';
import fc from 'fast-check';
import { compositeRaster } from '../../../../pool/image/geometry/composite.js';
import { pixelAt, pixelsOf, pixelsWhere, rasters } from './rasters.js';

const offset = fc.oneof(fc.integer({ min: -12, max: 12 }), fc.constantFrom(-9e15, 9e15));

/** Porter and Duff's "over" with alphas of 0 to 1, as the paper has it. */
function over(top: number[], bottom: number[]): number[] {
  const [a = 0, b = 0] = [top[3], bottom[3]].map((alpha) => (alpha as number) / 255);
  const alpha = a + b * (1 - a);
  if (alpha === 0) return bottom;
  const colors = [0, 1, 2].map((c) => ((top[c] as number) * a + (bottom[c] as number) * b * (1 - a)) / alpha);
  return [...colors, alpha * 255];
}

describe('compositeRaster', () => {
  it('lays the first frame over each frame where it is told to, and nothing elsewhere', () => {
    fc.assert(
      fc.property(rasters(), rasters(), offset, offset, (raster, overlay, left, top) => {
        const expected = pixelsWhere(raster, (frame, x, y) => {
          const below = pixelAt(raster, frame, x, y);
          const [ox, oy] = [x - left, y - top];
          const inside = ox >= 0 && oy >= 0 && ox < overlay.width && oy < overlay.height;
          return inside ? over(pixelAt(overlay, 0, ox, oy), below) : below;
        });
        const laid = { ...raster, data: raster.data.slice() };
        compositeRaster(laid, overlay, left, top);
        for (const [i, pixel] of pixelsOf(laid).entries()) {
          for (const [c, value] of pixel.entries())
            expect(value).to.be.closeTo(expected[i]?.[c] as number, 0.501);
        }
      }),
    );
  });

  it('gives the same over opaque pixels with and without alpha', () => {
    fc.assert(
      fc.property(rasters(3), rasters(4), (raster, overlay) => {
        const withAlpha = {
          ...raster,
          channels: 4 as const,
          data: Uint8Array.from(pixelsOf(raster).flat()),
        };
        compositeRaster(raster, overlay, 0, 0);
        compositeRaster(withAlpha, overlay, 0, 0);
        expect(pixelsOf(withAlpha)).to.deep.equal(pixelsOf(raster));
      }),
    );
  });
});
