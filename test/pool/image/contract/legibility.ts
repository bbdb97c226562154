import { expect } from 'chai';
import type { WatermarkOptions } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import { contrastOf, luminanceOf } from '../../../../pool/image/text/luminance.js';
import { paint, toSharp } from '../pictures.js';
import { scenes } from '../scenes.js';
import type { EngineBench } from './bench.js';

/** What the helper asks for where nothing is said. */
const mark: WatermarkOptions = {
  text: '© Example 2026',
  position: 'bottom-right',
  opacity: 0.5,
  fontSize: 'auto',
  color: 'auto',
};

/** The quarter of 420 × 320 in which the mark stands. */
const sides = { width: 210, height: 160 };
const quarter = (colorAt: (x: number, y: number) => readonly number[]) =>
  paint(sides.width, sides.height, (x, y) => colorAt(x + sides.width, y + sides.height));
const plain = (...color: number[]) => quarter(() => color);

/** The default watermark can be read on anything, by the pixels of the results. */
export function legibilityTests(bench: EngineBench): void {
  describe('legibility', () => {
    /** Places that ink covers whole: where solid black leaves nothing of white. */
    let covered: number[];
    before(async () => {
      const raster = await bench.run(await png(plain(255, 255, 255)), (image) =>
        image.watermark({ ...mark, color: '#000000', opacity: 1 }),
      );
      covered = pixels(raster).filter((at) => raster.data[at * 4] === 0);
      expect(covered.length).to.be.greaterThan(30);
    });

    async function contrast(source: Raster, format?: 'jpg'): Promise<number> {
      const after = await bench.run(await png(source), (image) => image.watermark(mark), format);
      return contrastOf(meanLight(source, covered), meanLight(after, covered));
    }

    for (const [name, colorAt] of Object.entries(scenes)) {
      it(`of ink on ${name}`, async () => {
        expect(await contrast(quarter(colorAt))).to.be.at.least(2);
      });
    }

    it('of ink on white, black and greys of a jpg', async () => {
      for (const grey of [0, 118, 188, 255]) {
        expect(await contrast(plain(grey, grey, grey), 'jpg'), `grey ${grey}`).to.be.at.least(2);
      }
    });

    it('of ink on nothing, laid on white', async () => {
      for (const alpha of [0, 128]) {
        const clear = plain(0, 0, 0, alpha);
        expect(await contrast(clear), `alpha ${alpha} of a png`).to.be.at.least(2);
        expect(await contrast(clear, 'jpg'), `alpha ${alpha} of a jpg`).to.be.at.least(2);
      }
    });

    it('of an outline on what the ink alone does not stand out from', async () => {
      const raster = await bench.run(await png(plain(90, 90, 90)), (image) =>
        image.watermark({ ...mark, color: '#5a5a5a', opacity: 1, outline: 3 }),
      );
      const light = pixels(raster).filter((at) => (raster.data[at * 4] as number) > 250);
      expect(light.length).to.be.greaterThan(500);
    });
  });

  describe('watermark of lines', () => {
    const white = () => png(paint(300, 200, () => [255, 255, 255]));
    const solid = { ...mark, color: '#000000', opacity: 1, fontSize: 20 };
    const text = 'Several words that take more than a line of this picture, twice as many, in fact';

    it('keeps its size and stands flush with its side', async () => {
      const lines = async (position: WatermarkOptions['position']) =>
        bench.run(await white(), (image) =>
          image.watermark({ ...solid, text, position, wrap: { maxLines: 10 } }),
        );
      const [left, right] = [await lines('top-left'), await lines('top-right')];
      const edges = (raster: Raster) => {
        const ends = inkedRows(raster);
        return { first: spread(ends.map((row) => row.first)), last: spread(ends.map((row) => row.last)) };
      };
      expect(edges(left).first).to.be.lessThan(edges(left).last);
      expect(edges(right).last).to.be.lessThan(edges(right).first);
      expect(inkedRows(left).length).to.be.within(60, 110);
    });
  });
}

function png(raster: Raster): Promise<Buffer> {
  return toSharp(raster).png().toBuffer();
}

function pixels({ width, height }: Raster): number[] {
  return Array.from({ length: width * height }, (_, i) => i);
}

/** Mean relative luminance, as seen on white. */
function meanLight({ data, channels }: Raster, places: readonly number[]): number {
  const lights = places.map((place) => {
    const at = place * channels;
    const alpha = channels === 4 ? (data[at + 3] as number) / 255 : 1;
    const seen = [0, 1, 2].map((c) => Math.round((data[at + c] as number) * alpha + 255 * (1 - alpha)));
    return luminanceOf(`#${Buffer.from(seen).toString('hex')}`);
  });
  return lights.reduce((sum, light) => sum + light, 0) / lights.length;
}

/** The first and the last dark pixel of each row that has any. */
function inkedRows({ data, width, height }: Raster): { first: number; last: number }[] {
  const rows = Array.from({ length: height }, (_, y) => {
    const row = { first: width, last: -1 };
    for (let x = 0; x < width; x++) {
      if ((data[(y * width + x) * 4] as number) >= 128) continue;
      row.first = Math.min(row.first, x);
      row.last = x;
    }
    return row;
  });
  return rows.filter(({ last }) => last >= 0);
}

/** How far the middle eight tenths of the values lie from each other. */
function spread(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (
    (sorted[Math.floor(sorted.length * 0.9)] as number) - (sorted[Math.floor(sorted.length * 0.1)] as number)
  );
}
