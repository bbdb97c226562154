import { Resvg } from '@resvg/resvg-wasm';
import { expect } from 'chai';
import fc from 'fast-check';
import { type BorderPlan, drawBorder, planBorder } from '../../../pool/image/border.js';
import type { BorderOptions } from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';
import { createTextRenderer } from '../../../pool/image/text/overlay.js';

const picture = '#20c040';
const ring = '#c02080';

function plain(width: number, height: number, channels: 3 | 4): Raster {
  const pixel = Buffer.from(`${picture.slice(1)}ff`, 'hex').subarray(0, channels);
  return { data: Buffer.alloc(width * height * channels, pixel), width, height, channels, frames: 1 };
}

/** A box with corners of these radii, as a path. */
function box(x: number, y: number, w: number, h: number, radii: readonly [number, number][]): string {
  const [a, b, c, d] = radii.map(([rx, ry]) => (rx <= 0 || ry <= 0 ? [0, 0] : [rx, ry])) as [
    [number, number],
    [number, number],
    [number, number],
    [number, number],
  ];
  return (
    `M${x + a[0]} ${y}H${x + w - b[0]}A${b} 0 0 1 ${x + w} ${y + b[1]}V${y + h - c[1]}` +
    `A${c} 0 0 1 ${x + w - c[0]} ${y + h}H${x + d[0]}A${d} 0 0 1 ${x} ${y + h - d[1]}V${y + a[1]}A${a} 0 0 1 ${x + a[0]} ${y}Z`
  );
}

/** The same by resvg: the border, and over it the picture in its middle. */
function byResvg(options: BorderOptions, size: { width: number; height: number }): Uint8Array {
  const { plan, width, height } = planBorder(size, options);
  const { top, right, bottom, left, radius: r } = plan;
  const outer = box(0, 0, width, height, [
    [r, r],
    [r, r],
    [r, r],
    [r, r],
  ]);
  const inner = box(left, top, width - left - right, height - top - bottom, [
    [r - left, r - top],
    [r - right, r - top],
    [r - right, r - bottom],
    [r - left, r - bottom],
  ]);
  const image = new Resvg(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
      `${options.width === 0 ? '' : `<path fill="${ring}" d="${outer}"/>`}<path fill="${picture}" d="${inner}"/></svg>`,
  ).render();
  return image.pixels;
}

interface Ellipse {
  x: number;
  y: number;
  radiusX: number;
  radiusY: number;
}

/** Whether a place that lies in the quarter beyond an ellipse's middle lies in the ellipse. */
function isIn({ x, y, radiusX, radiusY }: Ellipse, across: number, down: number): boolean {
  return ((across - x) / radiusX) ** 2 + ((down - y) / radiusY) ** 2 <= 1;
}

/** The shares of one pixel of the upper left corner that are border and picture, by 32 × 32 places in it. */
function sharesAt(
  i: number,
  j: number,
  { left, top, radius }: BorderPlan,
): { border: number; picture: number } {
  const outer = { x: radius, y: radius, radiusX: radius, radiusY: radius };
  const inner = { x: radius, y: radius, radiusX: radius - left, radiusY: radius - top };
  const isSquare = inner.radiusX <= 0 || inner.radiusY <= 0;
  let [border, seen] = [0, 0];
  for (let a = 0; a < 32; a++) {
    for (let b = 0; b < 32; b++) {
      const [x, y] = [i + (a + 0.5) / 32, j + (b + 0.5) / 32];
      if (!isIn(outer, x, y)) continue;
      if (x >= left && y >= top && (isSquare || isIn(inner, x, y))) seen += 1;
      else border += 1;
    }
  }
  return { border: border / 1024, picture: seen / 1024 };
}

/** Premultiplied, as resvg gives them. */
function premultiplied({ data }: Raster): Uint8Array {
  return data.map((value, i) => (i % 4 === 3 ? value : Math.round((value * (data[i | 3] as number)) / 255)));
}

describe('round corners', () => {
  before(async () => {
    // It starts resvg, which can be done but once.
    await createTextRenderer(await createFontSet());
  });

  for (const options of [
    { width: 0, radius: 12 },
    { width: 4, radius: 12 },
    { width: 12, radius: 12 },
    { width: 5, top: 1, left: 20, radius: 16 },
    { width: 3, radius: 5000 },
    { width: 6, radius: 15, inset: true },
  ]) {
    it(`are as resvg draws them: ${JSON.stringify(options)}`, () => {
      const size = { width: 61, height: 44 };
      const given = { color: ring, ...options };
      const { plan } = planBorder(size, given);
      const ours = premultiplied(drawBorder(plain(61, 44, 3), plan, false));
      const theirs = byResvg(given, size);
      expect(ours.length).to.equal(theirs.length);
      const apart = ours.map((value, i) => Math.abs(value - (theirs[i] as number)));
      const mean = apart.reduce((sum, value) => sum + value, 0) / apart.length;
      // Resvg lays one over the other, and so has a little of the border where both end in one pixel.
      expect(mean).to.be.at.most(0.4);
    });
  }

  for (const [radius, left, top] of [
    [1, 0, 0],
    [7, 2, 3],
    [20, 4, 4],
    [20, 0, 19],
    [20, 25, 3],
  ] as const) {
    it(`have each pixel's true shares: radius ${radius}, ${left} and ${top} wide`, () => {
      const { plan } = planBorder({ width: 60, height: 60 }, { width: 0, left, top, radius, color: ring });
      const drawn = drawBorder(plain(60, 60, 4), plan, false);
      const pixels = premultiplied(drawn);
      const [picked, framed] = [picture, ring].map((color) => Buffer.from(`${color.slice(1)}ff`, 'hex'));
      for (let j = 0; j < radius; j++) {
        for (let i = 0; i < radius; i++) {
          const shares = sharesAt(i, j, plan);
          const at = (j * drawn.width + i) * 4;
          for (let c = 0; c < 4; c++) {
            const right = shares.border * (framed?.[c] ?? 0) + shares.picture * (picked?.[c] ?? 0);
            expect(Math.abs((pixels[at + c] as number) - right), `${i} ${j} ${c}`).to.be.at.most(9);
          }
        }
      }
    });
  }

  it('leave the middle and every edge between corners as they are, whatever is asked for', () => {
    const side = fc.integer({ min: 0, max: 30 });
    fc.assert(
      fc.property(
        fc.record({
          width: side,
          top: side,
          right: side,
          bottom: side,
          left: side,
          radius: fc.integer({ min: 0, max: 60 }),
          inset: fc.boolean(),
        }),
        fc.constantFrom<3 | 4>(3, 4),
        fc.boolean(),
        (options, channels, opaque) => {
          const { plan, width, height } = planBorder({ width: 40, height: 30 }, { color: ring, ...options });
          const drawn = drawBorder(plain(40, 30, channels), plan, opaque);
          expect([drawn.width, drawn.height]).to.deep.equal([width, height]);
          expect(drawn.data.length).to.equal(width * height * drawn.channels);
          const colors = new Set([picture, ring].map((color) => color.slice(1)));
          for (let y = 0; y < height; y++) {
            for (let x = 0; x < width; x++) {
              const nearX = x < plan.radius || x >= width - plan.radius;
              const nearY = y < plan.radius || y >= height - plan.radius;
              if (nearX && nearY) continue;
              const at = (y * width + x) * drawn.channels;
              const pixel = Buffer.from(drawn.data.subarray(at, at + drawn.channels)).toString('hex');
              if (!colors.has(pixel.slice(0, 6)) || (pixel.slice(6) || 'ff') !== 'ff') {
                throw new Error(`${x} ${y} is ${pixel}`);
              }
            }
          }
        },
      ),
    );
  });
});
