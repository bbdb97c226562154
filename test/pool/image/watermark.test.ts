import { expect } from 'chai';
import fc from 'fast-check';
import type { Size } from '../../../pool/image/engine.js';
import type { Overlay } from '../../../pool/image/raster.js';
import { rotatedSize } from '../../../pool/image/rotate.js';
import {
  autoFontSize,
  autoSpacing,
  boundsBeforeRotation,
  fitRotated,
  largestRotated,
  type Tiling,
  tileOver,
} from '../../../pool/image/watermark.js';
import { drawingTests } from './drawing.js';

drawingTests(60);

/** The size that a text such as `3x2` names. */
function sizeFrom(text: string): Size {
  const [width, height] = text.split('x').map(Number) as [number, number];
  return { width, height };
}

/** A tile of which every pixel is another, and none is clear. */
function tileOf(width: number, height: number): Overlay {
  const data = Uint8Array.from({ length: width * height * 4 }, (_, i) => 1 + ((i * 7) % 255));
  return { data, width, height };
}

/** The pixel of an overlay as one number, 0 where it is clear. */
function pixelOf({ data, width }: Overlay, x: number, y: number): number {
  return Buffer.from(data.buffer, data.byteOffset).readUInt32LE((y * width + x) * 4);
}

/** What lies on each pixel of a picture; throws where tiles meet. */
function laid(width: number, height: number, { overlay, places }: Tiling): Uint32Array {
  const found = new Uint32Array(width * height);
  for (const { left, top } of places) {
    for (let y = Math.max(0, -top); y < overlay.height && top + y < height; y++) {
      for (let x = Math.max(0, -left); x < overlay.width && left + x < width; x++) {
        const pixel = pixelOf(overlay, x, y);
        if (pixel === 0) continue;
        const at = (top + y) * width + left + x;
        if (found[at] !== 0) throw new Error(`two tiles at ${left + x}, ${top + y}`);
        found[at] = pixel;
      }
    }
  }
  return found;
}

/** The same by the rule: every other row of the grid, counted from the middle, is half a step to the left. */
function expected(width: number, height: number, tile: Overlay, spacing: number): Uint32Array {
  const [across, down] = [tile.width + spacing, tile.height + spacing];
  const middle = { x: Math.floor((width - tile.width) / 2), y: Math.floor((height - tile.height) / 2) };
  const modulo = (value: number, by: number) => ((value % by) + by) % by;
  const found = new Uint32Array(width * height);
  for (let y = 0; y < height; y++) {
    const row = Math.floor((y - middle.y) / down);
    const shift = row % 2 === 0 ? 0 : Math.floor(across / 2);
    const v = modulo(y - middle.y, down);
    for (let x = 0; x < width; x++) {
      const u = modulo(x - middle.x + shift, across);
      if (u < tile.width && v < tile.height) found[y * width + x] = pixelOf(tile, u, v);
    }
  }
  return found;
}

/** Compared as bytes: a deep look at a million numbers takes seconds. */
function expectSame(one: Uint32Array, other: Uint32Array): void {
  expect(Buffer.from(one.buffer).equals(Buffer.from(other.buffer))).to.equal(true);
}

describe('tileOver', () => {
  it('covers a picture to its edges, with one tile in the middle and every other row moved by half', () => {
    const side = fc.integer({ min: 1, max: 90 });
    const length = fc.integer({ min: 1, max: 30 });
    fc.assert(
      fc.property(side, side, length, length, fc.nat(40), (width, height, w, h, spacing) => {
        const tile = tileOf(w, h);
        const tiling = tileOver({ width, height }, tile, spacing);
        expectSame(laid(width, height, tiling), expected(width, height, tile, spacing));
      }),
      { numRuns: 300 },
    );
  });

  it('puts small tiles together where the picture is large', () => {
    for (const [size, spacing] of Object.entries({ '1x1': 0, '3x2': 1, '5x1': 6, '1x40': 0, '700x2': 0 })) {
      const { width, height } = sizeFrom(size);
      const tile = tileOf(width, height);
      const tiling = tileOver({ width: 701, height: 603 }, tile, spacing);
      expect(tiling.overlay.data.length).to.be.above(tile.data.length);
      expectSame(laid(701, 603, tiling), expected(701, 603, tile, spacing));
    }
  });

  it('has no more places than a picture of 40 megapixels has sheets', () => {
    for (const picture of ['8000x5000', '40000000x1', '1x40000000', '200000x200']) {
      const { width, height } = sizeFrom(picture);
      for (const size of ['1x1', '2x9', '300x1', '1x300'].map(sizeFrom)) {
        const tile = tileOf(Math.min(size.width, width), Math.min(size.height, height));
        const { overlay, places } = tileOver({ width, height }, tile, 0);
        expect(places.length, `${picture}, ${tile.width}x${tile.height}`).to.be.at.most(400_000);
        expect(overlay.data.length).to.be.at.most(width * height * 4);
      }
    }
  });

  it('keeps tiles apart by half their longer side, and by a twentieth of the picture at least', () => {
    expect(autoSpacing({ width: 1000, height: 600 }, { width: 200, height: 30 })).to.equal(100);
    expect(autoSpacing({ width: 1000, height: 600 }, { width: 20, height: 30 })).to.equal(30);
    expect(autoSpacing({ width: 1, height: 1 }, { width: 1, height: 1 })).to.equal(1);
  });
});

describe('autoFontSize', () => {
  it('is a twentieth of the shorter side, whole, and 12 pixels at least', () => {
    expect(autoFontSize({ width: 2500, height: 1786 })).to.equal(89);
    expect(autoFontSize({ width: 400, height: 3000 })).to.equal(20);
    expect(autoFontSize({ width: 239, height: 900 })).to.equal(12);
  });
});

describe('a rotated box', () => {
  const side = fc.integer({ min: 3, max: 3000 });
  const size = fc.record({ width: side, height: side });
  const degrees = fc.oneof(
    fc.double({ min: 0, max: 360, maxExcluded: true, noNaN: true }),
    fc.constantFrom(0, 30, 45, 90, 135, 180, 270, 315),
  );
  const fits = (box: Size, area: Size) => box.width <= area.width && box.height <= area.height;

  it('lies in the area: the largest of its proportions, and no larger than it is', () => {
    fc.assert(
      fc.property(size, size, degrees, (box, area, angle) => {
        const fitted = fitRotated(box, area, angle);
        expect(fits({ width: 1, height: 1 }, fitted) && fits(fitted, box)).to.equal(true);
        // What is not a whole pixel wide or high is one all the same.
        if (Math.min(fitted.width, fitted.height) === 1) return;
        expect(fits(rotatedSize(fitted, angle), area)).to.equal(true);
        const whole = rotatedSize(box, angle);
        if (whole.width < area.width && whole.height < area.height) expect(fitted).to.deep.equal(box);
        // Rounding apart, it touches two sides, or is as it was.
        const larger = rotatedSize({ width: fitted.width + 2, height: fitted.height + 2 }, angle);
        const isWhole = fitted.width >= box.width - 1 || fitted.height >= box.height - 1;
        expect(!fits(larger, area) || isWhole).to.equal(true);
      }),
    );
  });

  it('lies in the area where its own is the largest, and no other of that length is higher', () => {
    fc.assert(
      fc.property(size, degrees, (area, angle) => {
        const box = largestRotated(area, angle);
        if (Math.min(box.width, box.height) === 1) return;
        expect(fits(rotatedSize(box, angle), area)).to.equal(true);
        const bounds = boundsBeforeRotation(area, angle);
        expect(fits(box, bounds)).to.equal(true);
        for (let part = 1; part <= 20; part++) {
          const other = fitRotated({ ...bounds, width: (bounds.width * part) / 20 }, area, angle);
          expect(other.width * other.height).to.be.at.most((box.width + 1) * (box.height + 1));
        }
      }),
    );
  });
});
