import { expect } from 'chai';
import fc from 'fast-check';
import { ImageError, type Orientation } from '../../../pool/image/engine.js';
import {
  blendOverlay,
  cropRaster,
  dropOpaqueAlpha,
  type Raster,
  withAlpha,
} from '../../../pool/image/raster.js';
import { shrinkRaster } from '../../../pool/image/resize.js';
import { orientRaster, rotatedSize, rotateOverlay, rotateRaster } from '../../../pool/image/rotate.js';
import {
  distance,
  paint,
  pixelAt,
  pixelsOf,
  pixelsWhere,
  plain,
  rasters,
  sizeOf,
  storeTurned,
} from './pictures.js';

/** What no decoder distinguishes: the colours of clear pixels. */
const visible = (raster: Raster) => pixelsOf(raster).map((pixel) => (pixel[3] === 0 ? [0, 0, 0, 0] : pixel));

describe('dropOpaqueAlpha', () => {
  const opaqueBytes = fc
    .integer({ min: 1, max: 3000 })
    .chain((pixels) => fc.uint8Array({ minLength: pixels * 4, maxLength: pixels * 4 }))
    .map((data) => data.map((value, i) => (i % 4 === 3 ? 255 : value)));

  it('leaves the colours of what is opaque, and all of what has one pixel that is not, wherever bytes lie', () => {
    fc.assert(
      fc.property(opaqueBytes, fc.nat(7), fc.nat(), fc.nat(254), (bytes, offset, at, alpha) => {
        const data = new Uint8Array(bytes.length + offset).subarray(offset);
        data.set(bytes);
        const raster: Raster = { data, width: data.length / 4, height: 1, channels: 4, frames: 1 };
        const dropped = dropOpaqueAlpha(raster);
        expect(dropped.channels).to.equal(3);
        expect([...dropped.data]).to.deep.equal([...data.filter((_, i) => i % 4 !== 3)]);
        data[(at % raster.width) * 4 + 3] = alpha;
        expect(dropOpaqueAlpha(raster)).to.equal(raster);
      }),
    );
  });
});

describe('cropRaster', () => {
  it('gives the pixels of the rectangle, of every frame', () => {
    fc.assert(
      fc.property(rasters(), fc.array(fc.nat(), { minLength: 4, maxLength: 4 }), (raster, numbers) => {
        const [a, b, c, d] = numbers as [number, number, number, number];
        const [left, top] = [a % raster.width, b % raster.height];
        const [width, height] = [1 + (c % (raster.width - left)), 1 + (d % (raster.height - top))];
        const cut = cropRaster(raster, { left, top, width, height });
        expect([...sizeOf(cut), cut.frames]).to.deep.equal([width, height, raster.frames]);
        const expected = pixelsWhere(cut, (x, y, frame) => pixelAt(raster, left + x, top + y, frame));
        expect(pixelsOf(cut)).to.deep.equal(expected);
      }),
    );
  });

  it('shows nothing beyond a picture that is smaller than its header says', () => {
    const raster = plain(3, 3, [0, 0, 0]);
    expect(() => cropRaster(raster, { left: 1, top: 0, width: 3, height: 1 })).to.throw(ImageError);
    expect(() => cropRaster(raster, { left: 0, top: 3, width: 1, height: 1 })).to.throw(ImageError);
  });
});

/** Porter and Duff's "over" with alphas of 0 to 1, as the paper has it. */
function over(top: number[], bottom: number[]): number[] {
  const [a = 0, b = 0] = [top[3], bottom[3]].map((alpha) => (alpha as number) / 255);
  const alpha = a + b * (1 - a);
  if (alpha === 0) return bottom;
  const colors = [0, 1, 2].map((c) => ((top[c] as number) * a + (bottom[c] as number) * b * (1 - a)) / alpha);
  return [...colors, alpha * 255];
}

describe('blendOverlay', () => {
  const offset = fc.oneof(fc.integer({ min: -12, max: 12 }), fc.constantFrom(-9e15, 9e15));

  it('lays the first frame over each frame where it is asked to, and nothing elsewhere', () => {
    fc.assert(
      fc.property(rasters(), rasters(), offset, offset, (raster, overlay, left, top) => {
        const expected = pixelsWhere(raster, (x, y, frame) => {
          const below = pixelAt(raster, x, y, frame);
          const [ox, oy] = [x - left, y - top];
          const inside = ox >= 0 && oy >= 0 && ox < overlay.width && oy < overlay.height;
          return inside ? over(pixelAt(overlay, ox, oy), below) : below;
        });
        const laid = { ...raster, data: raster.data.slice() };
        blendOverlay(laid, overlay, { left, top });
        expect(distance(pixelsOf(laid).flat(), expected.flat())).to.be.at.most(0.501);
      }),
    );
  });

  it('gives the same over opaque pixels with and without alpha', () => {
    fc.assert(
      fc.property(rasters(3), rasters(4), (raster, overlay) => {
        const four = withAlpha(raster);
        blendOverlay(raster, overlay, { left: 0, top: 0 });
        blendOverlay(four, overlay, { left: 0, top: 0 });
        expect(pixelsOf(four)).to.deep.equal(pixelsOf(raster));
      }),
    );
  });
});

describe('shrinkRaster', () => {
  it('means the pixels that each covers, so that what is clear lends no colour', () => {
    const columns = paint(2, 2, (x, y) => (x === 1 ? [9, 9, 9, 0] : [200 - 100 * y, 0, 0, 255]));
    expect([...shrinkRaster(columns, 2).data]).to.deep.equal([150, 0, 0, 128]);
  });

  it('is the first frame as it is at one time, where that is not clear', () => {
    fc.assert(
      fc.property(rasters(), (raster) => {
        const shrunk = shrinkRaster(raster, 1);
        expect([...sizeOf(shrunk), shrunk.frames]).to.deep.equal([...sizeOf(raster), 1]);
        expect(pixelsOf(shrunk)).to.deep.equal(visible({ ...raster, frames: 1 }));
      }),
    );
  });
});

const anyAngle = fc.double({ min: 0, max: 360, noNaN: true });
const rotated = (raster: Raster, degrees: number, opaque = false) =>
  rotateRaster(raster, { degrees, ...rotatedSize(raster, degrees) }, opaque);

describe('rotateRaster', () => {
  it('has the size of the picture by multiples of 90, and for others one that holds every corner', () => {
    const side = fc.integer({ min: 1, max: 16_383 });
    fc.assert(
      fc.property(side, side, anyAngle, (width, height, degrees) => {
        expect(rotatedSize({ width, height }, 180)).to.deep.equal({ width, height });
        expect(rotatedSize({ width, height }, 90)).to.deep.equal({ width: height, height: width });
        const angle = (degrees / 180) * Math.PI;
        const across = width * Math.abs(Math.cos(angle)) + height * Math.abs(Math.sin(angle));
        expect(rotatedSize({ width, height }, degrees).width - across).to.be.within(-0.001, 1);
      }),
    );
  });

  it('agrees by multiples of 90 with what moves pixels', () => {
    fc.assert(
      fc.property(rasters(), (raster) => {
        for (const [i, orientation] of ([6, 3, 8] as const).entries()) {
          const turned = rotated(raster, 90 * (i + 1));
          expect(visible(turned)).to.deep.equal(visible(orientRaster(raster, orientation)));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('gives the same for opaque pixels with and without alpha, on white as well', () => {
    fc.assert(
      fc.property(rasters(3), anyAngle, fc.boolean(), (raster, degrees, opaque) => {
        const four = rotated(withAlpha(raster), degrees, opaque);
        expect(pixelsOf(four)).to.deep.equal(pixelsOf(rotated(raster, degrees, opaque)));
      }),
    );
  });

  it('of one colour is that colour everywhere, and clear or white around', () => {
    fc.assert(
      fc.property(anyAngle, fc.integer({ min: 1, max: 255 }), (degrees, alpha) => {
        const raster = plain(8, 5, [200, 100, 50, alpha]);
        for (const [red, green, blue, a = 0] of visible(rotated(raster, degrees))) {
          expect(a).to.be.at.most(alpha);
          if (a > 0) expect([red, green, blue]).to.deep.equal([200, 100, 50]);
        }
        for (const pixel of pixelsOf(rotated(raster, degrees, true))) expect(pixel[3]).to.equal(255);
      }),
    );
  });
});

describe('rotateOverlay', () => {
  it('moves pixels and changes none by quarters', () => {
    const overlay = { data: Uint8Array.from({ length: 24 }, (_, i) => i), width: 3, height: 2 };
    const quarter = rotateOverlay(overlay, 90);
    expect(sizeOf(quarter)).to.deep.equal([2, 3]);
    expect([...quarter.data.subarray(0, 8)]).to.deep.equal([12, 13, 14, 15, 0, 1, 2, 3]);
    expect([...rotateOverlay(rotateOverlay(quarter, 180), 90).data]).to.deep.equal([...overlay.data]);
    expect(rotateOverlay(overlay, 0)).to.equal(overlay);
  });

  it('keeps colours within their alpha at any angle, on nothing', () => {
    fc.assert(
      fc.property(anyAngle, (angle) => {
        const turned = rotateOverlay(plain(20, 10, [100, 50, 0, 200]), angle);
        const pixels = pixelsOf({ ...turned, channels: 4, frames: 1 });
        let ink = 0;
        for (const [red = 0, green = 0, blue = 0, alpha = 0] of pixels) {
          ink += alpha;
          expect(red).to.be.within(Math.floor(alpha / 2) - 1, Math.ceil(alpha / 2) + 1);
          expect(Math.abs(green - alpha / 4)).to.be.at.most(1);
          expect(blue).to.equal(0);
        }
        expect(ink / (200 * 200)).to.be.within(0.97, 1.03);
      }),
    );
  });
});

describe('orientRaster', () => {
  it('shows every orientation upright, each frame by itself, wherever its bytes lie', () => {
    const orientations = fc.integer({ min: 1, max: 8 });
    fc.assert(
      fc.property(rasters(), orientations, fc.nat(4), (raster, orientation, offset) => {
        const stored = storeTurned(raster, orientation);
        const data = Buffer.concat([Buffer.alloc(offset), stored.data]).subarray(offset);
        const upright = orientRaster({ ...stored, data }, orientation as Orientation);
        expect(sizeOf(upright)).to.deep.equal(sizeOf(raster));
        expect(pixelsOf(upright)).to.deep.equal(pixelsOf(raster));
      }),
      { numRuns: 500 },
    );
  });
});
