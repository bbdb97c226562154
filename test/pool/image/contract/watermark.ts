import { expect } from 'chai';
import type { Corner, Image, WatermarkOptions } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import { colorAt, distance, limits, paint, toSharp } from '../pictures.js';
import { type EngineBench, purple } from './bench.js';

const mark: WatermarkOptions = {
  text: 'Ag©',
  position: 'bottom-right',
  opacity: 1,
  fontSize: 24,
  color: '#ff0000',
};

/** Watermarks: place, opacity, size; and what is drawn on transparency. */
export function watermarkTests(bench: EngineBench): void {
  describe('transparency', () => {
    const clear = () =>
      toSharp(paint(40, 40, () => [0, 0, 255, 0]))
        .png()
        .toBuffer();
    const border = (image: Image) => image.border({ width: 10, color: '#800080' });

    for (const format of ['png', 'webp'] as const) {
      it(`stays inside the border of a ${format}`, async () => {
        const raster = await bench.run(await clear(), border, format);
        expect(colorAt(raster, 0.5, 0.5)[3]).to.equal(0);
        expect(distance(colorAt(raster, 0, 0), [...purple, 255])).to.be.at.most(6);
      });
    }

    it('is laid on white in a jpg', async () => {
      const raster = await bench.run(await clear(), border, 'jpg');
      expect(distance(colorAt(raster, 0.5, 0.5), [255, 255, 255])).to.be.at.most(3);
    });

    it('takes a watermark of the colour asked for', async () => {
      const raster = await bench.run(await clear(), (image) => image.watermark(mark));
      const drawn = inked(raster, (pixel) => (pixel[3] as number) > 0);
      expect(drawn.count).to.be.greaterThan(20);
      expect(drawn.pixels.every(([r, g, b]) => r === 255 && g === 0 && b === 0)).to.equal(true);
    });
  });

  describe('watermark', () => {
    const white = () =>
      toSharp(paint(120, 90, () => [255, 255, 255]))
        .png()
        .toBuffer();
    const corners: Record<Corner, (box: Box) => boolean> = {
      'top-left': (box) => box.left < 20 && box.top < 20,
      'top-right': (box) => box.right > 100 && box.top < 20,
      'bottom-left': (box) => box.left < 20 && box.bottom > 70,
      'bottom-right': (box) => box.right > 100 && box.bottom > 70,
    };

    for (const [position, holds] of Object.entries(corners) as [Corner, (box: Box) => boolean][]) {
      it(`stands ${position} with a margin and changes nothing else`, async () => {
        const raster = await bench.run(await white(), (image) => image.watermark({ ...mark, position }));
        const { box, count } = inked(raster, (pixel) => pixel[1] !== 255);
        expect(count).to.be.greaterThan(50);
        expect(holds(box), JSON.stringify(box)).to.equal(true);
        expect(Math.min(box.left, box.top, 119 - box.right, 89 - box.bottom)).to.be.at.least(4);
        expect([box.right - box.left, box.bottom - box.top].every((side) => side < 60)).to.equal(true);
      });
    }

    it('is invisible at opacity 0, solid at 1 and half way at 0.5', async () => {
      const darkest = async (opacity: number) => {
        const raster = await bench.run(await white(), (image) =>
          image.watermark({ ...mark, opacity, color: '#000000' }),
        );
        return Math.min(...raster.data.filter((_, i) => i % 4 === 0));
      };
      expect(await darkest(0)).to.equal(255);
      expect(await darkest(1)).to.equal(0);
      expect(await darkest(0.5)).to.be.within(127, 128);
    });

    for (const [width, height] of [
      [1, 1],
      [1, 200],
      [200, 1],
      [7, 3],
      [64, 64],
    ] as const) {
      it(`of 500 letters fits into ${width} × ${height}`, async () => {
        const source = await toSharp(paint(width, height, () => [0, 0, 0]))
          .png()
          .toBuffer();
        const raster = await bench.run(source, (image) =>
          image.watermark({ ...mark, text: 'W'.repeat(500), fontSize: 1000 }),
        );
        expect([raster.width, raster.height]).to.deep.equal([width, height]);
      });
    }

    it('of spaces draws nothing', async () => {
      const raster = await bench.run(await white(), (image) => image.watermark({ ...mark, text: '   ' }));
      expect(inked(raster, (pixel) => pixel[1] !== 255).count).to.equal(0);
    });

    it("with a character that no font draws is the input's fault", async () => {
      const image = (await bench.engine.open(await white(), limits)).watermark({ ...mark, text: 'a\u4e2d' });
      const error = await image.encode('png').then(
        () => undefined,
        (caught) => caught,
      );
      expect(error).to.include({ code: 'invalid_input' });
      expect(error.details[0].field).to.equal('text');
      expect(error.details[0].problem).to.include('\u4e2d');
    });

    it('is drawn over a border that came first and under one that came after', async () => {
      const over = await bench.run(await white(), (image) =>
        image.border({ width: 40, color: '#ffffff' }).watermark(mark),
      );
      expect(inked(over, (pixel) => pixel[1] !== 255).box.bottom).to.be.greaterThan(140);
      const under = await bench.run(await white(), (image) =>
        image.watermark(mark).border({ width: 40, color: '#ffffff' }),
      );
      expect(inked(under, (pixel) => pixel[1] !== 255).box.bottom).to.be.lessThan(130);
    });
  });
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function inked(
  raster: Raster,
  isInk: (pixel: number[]) => boolean,
): { box: Box; count: number; pixels: number[][] } {
  const box: Box = { left: Infinity, top: Infinity, right: -1, bottom: -1 };
  const pixels: number[][] = [];
  for (let i = 0; i < raster.width * raster.height; i++) {
    const pixel = [0, 1, 2, 3].map((channel) => raster.data[i * 4 + channel] as number);
    if (!isInk(pixel)) continue;
    pixels.push(pixel);
    const x = i % raster.width;
    const y = Math.floor(i / raster.width);
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  }
  return { box, count: pixels.length, pixels };
}
