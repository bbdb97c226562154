import { expect } from 'chai';
import fc from 'fast-check';
import type { Orientation } from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import { orientRaster, rotatedSize, rotateRaster } from '../../../pool/image/rotate.js';
import { pixelAt, pixelsOf, pixelsWhere, rasters } from './rasters.js';

const turned = (raster: Raster, degrees: number, opaque = false) =>
  rotateRaster(raster, { degrees, ...rotatedSize(raster, degrees) }, opaque);

/** What no decoder tells apart: the colours of clear pixels. */
const visible = (raster: Raster) => pixelsOf(raster).map((pixel) => (pixel[3] === 0 ? [0, 0, 0, 0] : pixel));

describe('rotatedSize', () => {
  it('is that of the picture for turns by multiples of 90, and holds every corner for others', () => {
    const side = fc.integer({ min: 1, max: 16_383 });
    fc.assert(
      fc.property(side, side, fc.double({ min: 0, max: 360, noNaN: true }), (width, height, degrees) => {
        expect(rotatedSize({ width, height }, 180)).to.deep.equal({ width, height });
        expect(rotatedSize({ width, height }, 90)).to.deep.equal({ width: height, height: width });
        const angle = (degrees / 180) * Math.PI;
        const across = width * Math.abs(Math.cos(angle)) + height * Math.abs(Math.sin(angle));
        expect(rotatedSize({ width, height }, degrees).width - across).to.be.within(-0.001, 1);
      }),
    );
  });
});

describe('rotateRaster', () => {
  it('by multiples of 90 agrees with the turn that moves pixels', () => {
    fc.assert(
      fc.property(rasters(), (raster) => {
        for (const [degrees, orientation] of [
          [90, 6],
          [180, 3],
          [270, 8],
        ] as const) {
          expect(visible(turned(raster, degrees))).to.deep.equal(visible(orientRaster(raster, orientation)));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('gives the same for opaque pixels with and without alpha, on white as well', () => {
    fc.assert(
      fc.property(rasters(3), fc.double({ min: 0, max: 360, noNaN: true }), (raster, degrees) => {
        const data = Uint8Array.from(pixelsOf(raster).flat());
        const withAlpha: Raster = { ...raster, channels: 4, data };
        for (const opaque of [false, true]) {
          expect(pixelsOf(turned(withAlpha, degrees, opaque))).to.deep.equal(
            pixelsOf(turned(raster, degrees, opaque)),
          );
        }
      }),
    );
  });

  it('is clockwise', () => {
    const data = Uint8Array.from(
      Array.from({ length: 21 * 21 }, (_, i) => (i % 21 > 14 ? [255, 0, 0] : [0, 0, 255])).flat(),
    );
    const result = turned({ data, width: 21, height: 21, channels: 3, frames: 1 }, 80);
    const middle = Math.floor(result.width / 2);
    expect(pixelAt(result, 0, middle, result.height - 6)).to.deep.equal([255, 0, 0, 255]);
    expect(pixelAt(result, 0, middle, 6)).to.deep.equal([0, 0, 255, 255]);
  });

  it('of one colour is that colour everywhere, and clear or white around', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 360, noNaN: true }),
        fc.integer({ min: 1, max: 255 }),
        (degrees, alpha) => {
          const data = new Uint8Array(8 * 5 * 4).map((_, i) => [200, 100, 50, alpha][i % 4] as number);
          const raster: Raster = { data, width: 8, height: 5, channels: 4, frames: 1 };
          for (const [red, green, blue, a] of visible(turned(raster, degrees)) as [
            number,
            number,
            number,
            number,
          ][]) {
            expect(a).to.be.at.most(alpha);
            if (a > 0) expect([red, green, blue]).to.deep.equal([200, 100, 50]);
          }
          for (const pixel of pixelsOf(turned(raster, degrees, true))) expect(pixel[3]).to.equal(255);
        },
      ),
    );
  });
});

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
          const turned = orientRaster(raster, orientation);
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
    const turned = orientRaster({ data, width: 2, height: 1, channels: 4, frames: 1 }, 3);
    expect([...turned.data]).to.deep.equal([5, 6, 7, 8, 1, 2, 3, 4]);
  });
});
