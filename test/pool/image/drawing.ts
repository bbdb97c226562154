import { expect } from 'chai';
import fc from 'fast-check';
import type { LogoOptions, Measure, Position, WatermarkOptions } from '../../../pool/image/engine.js';
import { validateMark } from '../../../pool/image/options.js';
import type { Raster } from '../../../pool/image/raster.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';
import { createTextRenderer, type TextRenderer } from '../../../pool/image/text/overlay.js';
import { drawMark, drawText, placesFor } from '../../../pool/image/watermark.js';
import { rasters } from './rasters.js';

const positions: Position[] = ['top-left', 'top-right', 'bottom-left', 'bottom-right', 'center'];
const measure: fc.Arbitrary<Measure | 'auto'> = fc.oneof(
  fc.integer({ min: 0, max: 60 }),
  fc.integer({ min: 0, max: 5000 }),
  fc.integer({ min: 0, max: 100 }).map((percent): Measure => `${percent}%`),
  fc.constant('auto' as const),
);
const placing = fc.record({
  position: fc.constantFrom(...positions),
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
const picture = fc
  .record({
    width: side,
    height: side,
    channels: fc.constantFrom(3 as const, 4 as const),
    frames: fc.integer({ min: 1, max: 2 }),
  })
  .map((shape): Raster => {
    const length = shape.width * shape.height * shape.channels * shape.frames;
    return { ...shape, data: Buffer.alloc(length, 200) };
  });

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

const copyOf = (raster: Raster): Raster => ({ ...raster, data: Uint8Array.from(raster.data) });

/** Each property is tried so many times; text in large pictures is dear, and half as many times. */
export function drawingTests(numRuns: number): void {
  describe('a mark', () => {
    let renderer: TextRenderer;
    before(async () => {
      renderer = await createTextRenderer(await createFontSet());
    });

    async function draw(on: Raster, options: WatermarkOptions | Omit<LogoOptions, 'mark'>, logo?: Raster) {
      const raster = copyOf(on);
      const mark = validateMark(options as WatermarkOptions, logo && (async () => logo));
      await drawMark(raster, mark, async () => renderer);
      return raster;
    }

    /** Pixels that the margins leave to the mark at the least, on a side of this length. */
    const insetOf = (margin: Measure | 'auto', length: number, shorter: number) => {
      if (margin === 'auto') return 0;
      const pixels =
        typeof margin === 'number' ? margin : Math.round((Number.parseFloat(margin) / 100) * shorter);
      return Math.min(pixels, Math.floor(length * 0.45));
    };

    it('lies inside the margins, whatever it is and however it is turned', async () => {
      await fc.assert(
        fc.asyncProperty(
          picture,
          placing,
          style,
          fc.option(rasters()),
          fc.double({ min: 0.001, max: 1, noNaN: true }),
          async (on, place, text, logo, scale) => {
            const after = logo
              ? await draw(on, { ...place, scale }, logo)
              : await draw(on, { ...place, ...text });
            const box = changed(on, after);
            if (box.right < 0) return;
            const shorter = Math.min(on.width, on.height);
            const across = insetOf(place.margin, on.width, shorter);
            const down = insetOf(place.margin, on.height, shorter);
            // What is a pixel wide or high is two when it is turned askew.
            const slack =
              place.rotate % 90 === 0 || Math.min(on.width - 2 * across, on.height - 2 * down) > 3 ? 0 : 3;
            expect(box.left).to.be.at.least(across - slack);
            expect(box.top).to.be.at.least(down - slack);
            expect(box.right).to.be.below(on.width - across + slack);
            expect(box.bottom).to.be.below(on.height - down + slack);
          },
        ),
        { numRuns },
      );
    });

    it('keeps its text inside large pictures too, without one being drawn on', () => {
      const long = fc.integer({ min: 1, max: 3000 });
      fc.assert(
        fc.property(long, long, placing, style, (width, height, place, text) => {
          const mark = validateMark({ ...place, ...text }, undefined);
          const made = mark.text && drawText({ width, height }, mark.text, mark, renderer);
          if (!made) return;
          const { area, overlay } = made;
          const [{ left, top } = { left: -1, top: -1 }] = placesFor({ width, height }, made, mark).places;
          const slack = Math.min(area.width, area.height) > 3 ? 0 : 3;
          expect(Math.min(left - area.left, top - area.top)).to.be.at.least(-slack);
          expect(left + overlay.width).to.be.at.most(area.left + area.width + slack);
          expect(top + overlay.height).to.be.at.most(area.top + area.height + slack);
          expect(overlay.data.length).to.equal(overlay.width * overlay.height * 4);
        }),
        { numRuns: numRuns / 2 },
      );
    });

    it('covers any picture as tiles', async () => {
      await fc.assert(
        fc.asyncProperty(
          picture,
          placing,
          style,
          measure,
          fc.option(rasters()),
          async (on, place, text, spacing, logo) => {
            const tile = { spacing };
            const after = logo
              ? await draw(on, { ...place, tile }, logo)
              : await draw(on, { ...place, ...text, tile });
            expect(after.data.length).to.equal(on.data.length);
          },
        ),
        { numRuns },
      );
    });

    it('changes nothing at opacity 0, and every frame alike', async () => {
      const plain: Raster = {
        data: Buffer.alloc(60 * 40 * 3 * 3, 90),
        width: 60,
        height: 40,
        channels: 3,
        frames: 3,
      };
      expect(changed(plain, await draw(plain, { text: 'x', opacity: 0, tile: {} })).right).to.equal(-1);
      const { data } = await draw(plain, { text: 'xy', position: 'center', fontSize: 30, rotate: 20 });
      const frames = [0, 1, 2].map((frame) => Buffer.from(data.subarray(frame * 7200, (frame + 1) * 7200)));
      expect(frames[0]?.equals(Buffer.from(plain.data.subarray(0, 7200)))).to.equal(false);
      expect(frames.every((frame) => frame.equals(frames[0] as Buffer))).to.equal(true);
    });

    it('stands in the middle, or at its corner', async () => {
      const white: Raster = {
        data: Buffer.alloc(200 * 100 * 3, 255),
        width: 200,
        height: 100,
        channels: 3,
        frames: 1,
      };
      const logo: Raster = { data: Buffer.alloc(5 * 5 * 3), width: 5, height: 5, channels: 3, frames: 1 };
      const at = async (position: Position, more = {}) =>
        changed(white, await draw(white, { position, scale: 0.2, opacity: 1, ...more }, logo));
      expect(await at('center')).to.deep.equal({ left: 80, top: 30, right: 119, bottom: 69 });
      expect(await at('top-left')).to.deep.equal({ left: 5, top: 5, right: 44, bottom: 44 });
      expect(await at('bottom-right')).to.deep.equal({ left: 155, top: 55, right: 194, bottom: 94 });
      expect(await at('top-right', { margin: '10%' })).to.deep.equal({
        left: 150,
        top: 10,
        right: 189,
        bottom: 49,
      });
      expect(await at('bottom-left', { margin: 0 })).to.deep.equal({
        left: 0,
        top: 60,
        right: 39,
        bottom: 99,
      });
      expect(await at('bottom-left', { margin: 5000 })).to.deep.equal({
        left: 90,
        top: 45,
        right: 99,
        bottom: 54,
      });
      expect(await at('center', { scale: 1 })).to.deep.equal({ left: 55, top: 5, right: 144, bottom: 94 });
    });
  });
}
