import { expect } from 'chai';
import fc from 'fast-check';
import type { LogoOptions, Measure, Position, WatermarkOptions } from '../../../pool/image/engine.js';
import { validateMark } from '../../../pool/image/options.js';
import type { Raster } from '../../../pool/image/raster.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';
import { createTextRenderer, type TextRenderer } from '../../../pool/image/text/overlay.js';
import { drawMark } from '../../../pool/image/watermark.js';
import { film, pixelsOf, plain, rasters } from './pictures.js';

const measure: fc.Arbitrary<Measure | 'auto'> = fc.oneof(
  fc.integer({ min: 0, max: 60 }),
  fc.integer({ min: 0, max: 5000 }),
  fc.integer({ min: 0, max: 100 }).map((percent): Measure => `${percent}%`),
  fc.constant('auto' as const),
);
const placing = fc.record({
  position: fc.constantFrom<Position>('top-left', 'top-right', 'bottom-left', 'bottom-right', 'center'),
  opacity: fc.constantFrom(0.5, 1, 0.01),
  margin: measure,
  rotate: fc.oneof(fc.constantFrom(0, 45, 90, 180, -90), fc.double({ min: -360, max: 360, noNaN: true })),
});
const style = fc.record({
  text: fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom(...'aWgj, .|_Ä&<מש') }),
  fontSize: fc.oneof(fc.constant('auto' as const), fc.integer({ min: 4, max: 1000 })),
  color: fc.constantFrom('auto', '#ff8800'),
  outline: fc.constantFrom(0, 1, 30),
  wrap: fc.constantFrom(undefined, { maxLines: 1 }, { maxLines: 10 }),
});
const side = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 300 }));
const color = fc.constantFrom([200, 200, 200], [200, 200, 200, 200]);
const frame = fc.tuple(side, side, color).map((arguments_) => plain(...arguments_));
const [long, thin] = [fc.integer({ min: 300, max: 3000 }), fc.integer({ min: 1, max: 300 })];
const strip = fc
  .oneof(fc.tuple(long, thin), fc.tuple(thin, long))
  .map(([width, height]) => plain(width, height, [200, 200, 200]));
const picture = fc.oneof(
  frame,
  frame.map((each) => film([each, each])),
);

/** The box of what has changed, on any frame. */
function changed(before: Raster, after: Raster) {
  const box = { left: Infinity, top: Infinity, right: -1, bottom: -1 };
  const { width, height, channels } = before;
  for (let i = 0; i < before.data.length; i++) {
    if (before.data[i] === after.data[i]) continue;
    const pixel = Math.floor(i / channels) % (width * height);
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  }
  return box;
}

/** Each property is tried so many times. */
export function drawingTests(numRuns: number): void {
  describe('a mark', () => {
    let renderer: TextRenderer;
    before(async () => {
      renderer = await createTextRenderer(await createFontSet());
    });

    async function draw(on: Raster, options: WatermarkOptions | Omit<LogoOptions, 'mark'>, logo?: Raster) {
      const raster = { ...on, data: Uint8Array.from(on.data) };
      const mark = validateMark(options as WatermarkOptions, logo && (async () => logo));
      await drawMark(raster, mark, async () => renderer);
      return raster;
    }

    /** Pixels that the margins leave to the mark at the least, on a side of this length. */
    const insetOf = (margin: Measure | 'auto', length: number, shorter: number) => {
      if (margin === 'auto') return 0;
      const share = Number.parseFloat(`${margin}`);
      const pixels = typeof margin === 'number' ? margin : Math.round((share / 100) * shorter);
      return Math.min(pixels, Math.floor(length * 0.45));
    };

    function expectInside(
      on: Raster,
      { margin, rotate }: { margin: Measure | 'auto'; rotate: number },
      after: Raster,
    ): void {
      const box = changed(on, after);
      if (box.right < 0) return;
      const shorter = Math.min(on.width, on.height);
      const across = insetOf(margin, on.width, shorter);
      const down = insetOf(margin, on.height, shorter);
      // What is a pixel wide or high is two when it is rotated askew.
      const isWide = Math.min(on.width - 2 * across, on.height - 2 * down) > 3;
      const slack = rotate % 90 === 0 || isWide ? 0 : 3;
      expect(box.left).to.be.at.least(across - slack);
      expect(box.top).to.be.at.least(down - slack);
      expect(box.right).to.be.below(on.width - across + slack);
      expect(box.bottom).to.be.below(on.height - down + slack);
    }

    it('lies inside the margins, whatever it is and however it is rotated', async () => {
      const scales = fc.double({ min: 0.001, max: 1, noNaN: true });
      const marks = [picture, placing, style, fc.option(rasters()), scales] as const;
      await fc.assert(
        fc.asyncProperty(...marks, async (on, place, text, logo, scale) => {
          const options = logo ? { ...place, scale } : { ...place, ...text };
          expectInside(on, place, await draw(on, options, logo ?? undefined));
        }),
        { numRuns },
      );
    });

    it('keeps its text inside long pictures too', async () => {
      await fc.assert(
        fc.asyncProperty(strip, placing, style, async (on, place, text) => {
          expectInside(on, place, await draw(on, { ...place, ...text }));
        }),
        { numRuns: Math.ceil(numRuns / 10) },
      );
    });

    it('covers any picture as tiles', async () => {
      const marks = [picture, placing, style, measure, fc.option(rasters())] as const;
      await fc.assert(
        fc.asyncProperty(...marks, async (on, place, text, spacing, logo) => {
          const options = { ...place, ...(!logo && text), tile: { spacing } };
          expect((await draw(on, options, logo ?? undefined)).data.length).to.equal(on.data.length);
        }),
        { numRuns },
      );
    });

    it('changes nothing at opacity 0, and every frame alike', async () => {
      const frame = plain(60, 40, [90, 90, 90]);
      const three = film([frame, frame, frame]);
      expect(changed(three, await draw(three, { text: 'x', opacity: 0, tile: {} })).right).to.equal(-1);
      const options = { text: 'xy', position: 'center', fontSize: 30, rotate: 20 } as const;
      const once = await draw(frame, options);
      expect(changed(frame, once).right).to.be.above(-1);
      expect(pixelsOf(await draw(three, options))).to.deep.equal(pixelsOf(film([once, once, once])));
    });

    it('stands in the middle, or at its corner', async () => {
      const white = plain(200, 100, [255, 255, 255]);
      const logo = plain(5, 5, [0, 0, 0]);
      for (const [position, options, left, top, right, bottom] of [
        ['center', {}, 80, 30, 119, 69],
        ['top-left', {}, 5, 5, 44, 44],
        ['bottom-right', {}, 155, 55, 194, 94],
        ['top-right', { margin: '10%' }, 150, 10, 189, 49],
        ['bottom-left', { margin: 0 }, 0, 60, 39, 99],
        ['bottom-left', { margin: 5000 }, 90, 45, 99, 54],
        ['center', { scale: 1 }, 55, 5, 144, 94],
      ] as const) {
        const drawn = await draw(white, { scale: 0.2, opacity: 1, position, ...options }, logo);
        expect(changed(white, drawn), position).to.deep.equal({ left, top, right, bottom });
      }
    });
  });
}
