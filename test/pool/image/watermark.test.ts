import { expect } from 'chai';
import fc from 'fast-check';
import type { Overlay } from '../../../pool/image/raster.js';
import { autoFontSize, autoSpacing, type Tiling, tileOver } from '../../../pool/image/watermark.js';
import { drawingTests } from './drawing.js';

drawingTests(60);

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
      fc.property(
        side,
        side,
        length,
        length,
        fc.integer({ min: 0, max: 40 }),
        (width, height, w, h, spacing) => {
          const tile = tileOf(w, h);
          const tiling = tileOver({ width, height }, tile, spacing);
          expectSame(laid(width, height, tiling), expected(width, height, tile, spacing));
        },
      ),
      { numRuns: 300 },
    );
  });

  for (const [w, h, spacing] of [
    [1, 1, 0],
    [3, 2, 1],
    [5, 1, 6],
    [1, 40, 0],
    [700, 2, 0],
  ] as const) {
    it(`puts tiles of ${w} × ${h}, ${spacing} apart, together where the picture is large`, () => {
      const tile = tileOf(w, h);
      const tiling = tileOver({ width: 701, height: 603 }, tile, spacing);
      expect(tiling.overlay.data.length).to.be.above(tile.data.length);
      expectSame(laid(701, 603, tiling), expected(701, 603, tile, spacing));
    });
  }

  it('has no more places than a picture of 40 megapixels has sheets', () => {
    for (const [width, height] of [
      [8000, 5000],
      [40_000_000, 1],
      [1, 40_000_000],
      [200_000, 200],
    ] as const) {
      for (const [w, h] of [
        [1, 1],
        [2, 9],
        [300, 1],
        [1, 300],
      ] as const) {
        const { overlay, places } = tileOver(
          { width, height },
          tileOf(Math.min(w, width), Math.min(h, height)),
          0,
        );
        expect(places.length, `${width} × ${height}, ${w} × ${h}`).to.be.at.most(400_000);
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
  it('is a twentieth of the shorter side, whole', () => {
    expect(autoFontSize({ width: 2500, height: 1786 })).to.equal(89);
    expect(autoFontSize({ width: 400, height: 3000 })).to.equal(20);
  });

  it('is 12 pixels at least, on the smallest picture too', () => {
    expect(autoFontSize({ width: 239, height: 900 })).to.equal(12);
    expect(autoFontSize({ width: 1, height: 1 })).to.equal(12);
  });
});
