import { expect } from 'chai';
import fc from 'fast-check';
import { type BorderPlan, drawBorder, planBorder } from '../../../pool/image/border.js';
import type { Raster } from '../../../pool/image/raster.js';
import { pixelAt, plain, sizeOf } from './pictures.js';

const picture = [32, 192, 64];
const ring = [192, 32, 128];
const color = '#c02080';

const plainPicture = (width: number, height: number, channels: 3 | 4) =>
  plain(width, height, [...picture, 255].slice(0, channels));

/** The shares of one pixel of a corner that are border and picture, by 32 × 32 places in it; counted from outside inwards. */
function sharesAt(i: number, j: number, across: number, down: number, radius: number) {
  const isIn = (x: number, y: number, radiusX: number, radiusY: number) =>
    ((x - radius) / radiusX) ** 2 + ((y - radius) / radiusY) ** 2 <= 1;
  const [innerX, innerY] = [radius - across, radius - down];
  let [border, seen] = [0, 0];
  for (let a = 0; a < 32; a++) {
    for (let b = 0; b < 32; b++) {
      const [x, y] = [i + (a + 0.5) / 32, j + (b + 0.5) / 32];
      if (!isIn(x, y, radius, radius)) continue;
      const isRound = innerX > 0 && innerY > 0;
      if (x >= across && y >= down && (!isRound || isIn(x, y, innerX, innerY))) seen += 1;
      else border += 1;
    }
  }
  return { border: border / 1024, seen: seen / 1024 };
}

/** That each pixel of a corner is mixed of border, picture and nothing, or white, by its true shares. */
function expectCorner(drawn: Raster, plan: BorderPlan, [isRight, isLower]: boolean[], opaque: boolean): void {
  const { radius } = plan;
  const [across, down] = [isRight ? plan.right : plan.left, isLower ? plan.bottom : plan.top];
  for (let j = 0; j < radius; j++) {
    for (let i = 0; i < radius; i++) {
      const { border, seen } = sharesAt(i, j, across, down, radius);
      const pixel = pixelAt(drawn, isRight ? drawn.width - 1 - i : i, isLower ? drawn.height - 1 - j : j);
      for (let c = 0; c < 3; c++) {
        const around = opaque ? 255 * (1 - border - seen) : 0;
        const mixed = border * (ring[c] as number) + seen * (picture[c] as number) + around;
        const shown = ((pixel[c] as number) * (pixel[3] as number)) / 255;
        expect(Math.abs(shown - mixed), `${i} ${j} ${c}`).to.be.at.most(9);
      }
      const alpha = 255 * (opaque ? 1 : border + seen);
      expect(Math.abs((pixel[3] as number) - alpha), `${i} ${j}`).to.be.at.most(9);
    }
  }
}

describe('round corners', () => {
  for (const options of [
    { width: 0, radius: 1 },
    { width: 0, radius: 12 },
    { width: 4, radius: 20 },
    { width: 12, radius: 12 },
    { width: 5, top: 1, left: 20, radius: 16 },
    { width: 2, top: 3, left: 25, bottom: 0, right: 19, radius: 20 },
    { width: 3, radius: 5000 },
    { width: 6, radius: 15, inset: true },
  ]) {
    it(`have each pixel's true shares: ${JSON.stringify(options)}`, () => {
      const { plan } = planBorder({ width: 61, height: 44 }, { color, ...options });
      for (const channels of [3, 4] as const) {
        for (const opaque of [false, true]) {
          const drawn = drawBorder(plainPicture(61, 44, channels), plan, opaque);
          for (const isRight of [false, true]) {
            for (const isLower of [false, true]) expectCorner(drawn, plan, [isRight, isLower], opaque);
          }
        }
      }
    });
  }

  it('leave the middle and every edge between corners as they are, whatever is asked for', () => {
    const side = fc.integer({ min: 0, max: 30 });
    const widths = { width: side, top: side, right: side, bottom: side, left: side };
    const options = fc.record({ ...widths, radius: fc.integer({ min: 0, max: 60 }), inset: fc.boolean() });
    fc.assert(
      fc.property(options, fc.constantFrom<3 | 4>(3, 4), fc.boolean(), (options, channels, opaque) => {
        const { plan, width, height } = planBorder({ width: 40, height: 30 }, { color, ...options });
        const drawn = drawBorder(plainPicture(40, 30, channels), plan, opaque);
        expect(sizeOf(drawn)).to.deep.equal([width, height]);
        expect(drawn.data.length).to.equal(width * height * drawn.channels);
        const colors = [picture, ring].map((color) => `${[...color, 255]}`);
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) {
            const nearX = x < plan.radius || x >= width - plan.radius;
            const nearY = y < plan.radius || y >= height - plan.radius;
            const found = `${pixelAt(drawn, x, y)}`;
            if ((!nearX || !nearY) && !colors.includes(found)) expect.fail(`${x}, ${y} is ${found}`);
          }
        }
      }),
    );
  });
});
