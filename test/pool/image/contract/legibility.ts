import { expect } from 'chai';
import type { WatermarkOptions } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import { contrastOf, luminanceOf } from '../../../../pool/image/text/contrast.js';
import { paint, pngOf } from '../pictures.js';
import type { EngineBench } from './bench.js';

/** Noise that is the same each time, 0 to 1. */
function random(x: number, y: number): number {
  const mixed = Math.sin(x * 127.1 + y * 311.7) * 43758.5453;
  return mixed - Math.floor(mixed);
}

/** Noise as of clouds and grass: four octaves between the corners of squares. */
function clouds(x: number, y: number): number {
  let sum = 0;
  for (const [size, share] of [
    [64, 0.5],
    [32, 0.25],
    [16, 0.15],
    [4, 0.1],
  ] as const) {
    const [left, top] = [Math.floor(x / size), Math.floor(y / size)];
    const [across, down] = [x / size - left, y / size - top];
    const above = random(left, top) * (1 - across) + random(left + 1, top) * across;
    const below = random(left, top + 1) * (1 - across) + random(left + 1, top + 1) * across;
    sum += share * (above * (1 - down) + below * down);
  }
  return sum;
}

const between = (one: readonly number[], other: readonly number[], share: number) =>
  one.map((value, i) => Math.round(value + ((other[i] as number) - value) * share));

type Scene = (x: number, y: number) => readonly number[];

/** What pictures show, drawn by a formula: plain colours, patterns, and what photographs are like where a watermark goes. */
const scenes: Record<string, Scene> = {
  white: () => [255, 255, 255],
  black: () => [0, 0, 0],
  'middle grey': () => [128, 128, 128],
  'the grey on which black and white differ least': () => [118, 118, 118],
  red: () => [255, 0, 0],
  'the blue of a screen': () => [0, 0, 255],
  green: () => [0, 255, 0],
  'a gradient across': (x) => between([0, 0, 0], [255, 255, 255], x / 420),
  'a sunset': (_, y) => between([40, 20, 80], [255, 150, 60], y / 320),
  noise: (x, y) => [random(x, y), random(y, x + 7), random(x + 3, y)].map((part) => Math.round(part * 255)),
  'a board of black and white pixels': (x, y) => ((x + y) % 2 ? [255, 255, 255] : [0, 0, 0]),
  'a night with stars': (x, y) => (random(x, y) > 0.88 ? [255, 255, 255] : [4, 6, 20]),
  'print on paper': (x, y) => (y % 14 < 9 && random(x, y) > 0.6 ? [20, 20, 20] : [250, 248, 240]),
  'a meadow': (x, y) => between([20, 50, 10], [120, 160, 60], clouds(x, y) * 0.7 + random(x, y) * 0.3),
  'a beach': (x, y) => between([150, 120, 80], [245, 230, 200], clouds(x, y)),
  'a forest in the sun': (x, y) => between([5, 15, 5], [230, 240, 150], clouds(x, y) ** 3),
  'clouds half transparent': (x, y) => [
    ...between([60, 90, 160], [250, 250, 255], clouds(x, y)),
    Math.round(clouds(y, x) * 255),
  ],
};

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
  return pngOf(raster);
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
