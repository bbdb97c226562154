import { expect } from 'chai';
import fc from 'fast-check';
import { ImageError } from '../../../pool/image/engine.js';
import { blendOverlay, cropRaster, dropOpaqueAlpha } from '../../../pool/image/raster.js';
import { pixelAt, pixelsOf, pixelsWhere, rasters } from './rasters.js';

const bytes = fc.integer({ min: 1, max: 3000 }).chain((pixels) => {
  const length = pixels * 4;
  return fc.uint8Array({ minLength: length, maxLength: length });
});

describe('dropOpaqueAlpha', () => {
  it('leaves the colours of what is opaque, wherever its bytes lie', () => {
    fc.assert(
      fc.property(bytes, fc.nat(7), (pixels, offset) => {
        const data = pixels.map((value, i) => (i % 4 === 3 ? 255 : value));
        const moved = new Uint8Array(data.length + offset).subarray(offset);
        moved.set(data);
        const dropped = dropOpaqueAlpha({
          data: moved,
          width: data.length / 4,
          height: 1,
          channels: 4,
          frames: 1,
        });
        expect(dropped.channels).to.equal(3);
        expect([...dropped.data]).to.deep.equal([...data.filter((_, i) => i % 4 !== 3)]);
      }),
    );
  });

  it('gives back what has one pixel that is not, wherever it is', () => {
    fc.assert(
      fc.property(bytes, fc.nat(), fc.nat(254), (pixels, at, alpha) => {
        const data = pixels.map((value, i) => (i % 4 === 3 ? 255 : value));
        data[(at % (data.length / 4)) * 4 + 3] = alpha;
        const raster = { data, width: data.length / 4, height: 1, channels: 4 as const, frames: 1 };
        expect(dropOpaqueAlpha(raster)).to.equal(raster);
      }),
    );
  });
});

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

const offset = fc.oneof(fc.integer({ min: -12, max: 12 }), fc.constantFrom(-9e15, 9e15));

/** Porter and Duff's "over" with alphas of 0 to 1, as the paper has it. */
function over(top: number[], bottom: number[]): number[] {
  const [a = 0, b = 0] = [top[3], bottom[3]].map((alpha) => (alpha as number) / 255);
  const alpha = a + b * (1 - a);
  if (alpha === 0) return bottom;
  const colors = [0, 1, 2].map((c) => ((top[c] as number) * a + (bottom[c] as number) * b * (1 - a)) / alpha);
  return [...colors, alpha * 255];
}

describe('blendOverlay', () => {
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
        blendOverlay(laid, overlay, { left, top });
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
        blendOverlay(raster, overlay, { left: 0, top: 0 });
        blendOverlay(withAlpha, overlay, { left: 0, top: 0 });
        expect(pixelsOf(withAlpha)).to.deep.equal(pixelsOf(raster));
      }),
    );
  });
});
