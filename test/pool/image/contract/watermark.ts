import { expect } from 'chai';
import type { Corner, Image, LogoOptions, WatermarkOptions } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import { animation, colorAt, distance, frameColors, limits, paint, pngOf, rejectionOf } from '../pictures.js';
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
    const clear = () => pngOf(paint(40, 40, () => [0, 0, 255, 0]));
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
    const white = () => pngOf(paint(120, 90, () => [255, 255, 255]));
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
        const source = await pngOf(paint(width, height, () => [0, 0, 0]));
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
      const error = await rejectionOf(image.encode('png'));
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

/** A picture that is laid on another as its mark. */
export function logoTests(bench: EngineBench): void {
  describe('a picture as a mark', () => {
    const white = () => pngOf(paint(100, 80, () => [255, 255, 255]));
    const black = () => pngOf(paint(100, 80, () => [0, 0, 0]));
    /** Red left, half clear blue in the middle, clear green right. */
    const stripes = () =>
      pngOf(paint(60, 20, (x) => (x < 20 ? [255, 0, 0, 255] : x < 40 ? [0, 0, 255, 128] : [0, 255, 0, 0])));

    const lay = async (source: Buffer, logo: Buffer, options: Omit<LogoOptions, 'mark'>): Promise<Raster> => {
      const mark = await bench.engine.open(logo, limits);
      return bench.run(source, (image) => image.watermark({ opacity: 1, ...options, mark }));
    };

    it('has the part of the width that is asked for, and its own proportions and transparency', async () => {
      const raster = await lay(await white(), await stripes(), { scale: 0.6, position: 'center' });
      expect(distance(colorAt(raster, 0.25, 0.5), [255, 0, 0])).to.be.at.most(2);
      expect(distance(colorAt(raster, 0.5, 0.5), [127, 127, 255])).to.be.at.most(2);
      expect(distance(colorAt(raster, 0.75, 0.5), [255, 255, 255])).to.equal(0);
      expect(colorAt(raster, 0.19, 0.5).slice(0, 3)).to.deep.equal([255, 255, 255]);
      expect(colorAt(raster, 0.21, 0.5)[1]).to.be.below(10);
      expect(colorAt(raster, 0.25, 0.36).slice(0, 3)).to.deep.equal([255, 255, 255]);
      expect(colorAt(raster, 0.25, 0.39)[1]).to.be.below(10);
    });

    it('is half transparent, a fifth of the width, in the bottom right corner where nothing is said', async () => {
      const logo = await pngOf(paint(7, 7, () => [255, 255, 255]));
      const mark = await bench.engine.open(logo, limits);
      const raster = await bench.run(await black(), (image) => image.watermark({ mark }));
      // A twentieth of 80 from the edges.
      expect(colorAt(raster, 0.955, 0.945)[0]).to.be.within(127, 128);
      expect(colorAt(raster, 0.965, 0.945)[0]).to.equal(0);
      expect(colorAt(raster, 0.765, 0.945)[0]).to.be.within(127, 128);
      expect(colorAt(raster, 0.755, 0.945)[0]).to.equal(0);
    });

    it('is turned with its corners, on nothing', async () => {
      const logo = await pngOf(paint(40, 40, () => [255, 0, 0]));
      const raster = await lay(await white(), logo, { scale: 0.4, position: 'center', rotate: 45 });
      expect(distance(colorAt(raster, 0.5, 0.5), [255, 0, 0])).to.be.at.most(1);
      expect(colorAt(raster, 0.25, 0.5)[1]).to.be.below(10);
      expect(colorAt(raster, 0.31, 0.28).slice(0, 3)).to.deep.equal([255, 255, 255]);
    });

    it('covers the picture as tiles, edges too', async () => {
      const logo = await pngOf(paint(10, 10, () => [255, 0, 0]));
      const raster = await lay(await white(), logo, { scale: 0.1, tile: { spacing: 0 } });
      expect(raster.data.every((value, i) => value === (i % 4 === 1 || i % 4 === 2 ? 0 : 255))).to.equal(
        true,
      );
    });

    it('is the first frame of an animation, and what was made of the picture', async () => {
      const logo = await animation().gif().toBuffer();
      const mark = (await bench.engine.open(logo, limits)).crop({ left: 0, top: 0, width: 8, height: 8 });
      const raster = await bench.run(await white(), (image) =>
        image.watermark({ mark, opacity: 1, position: 'center' }),
      );
      expect(distance(colorAt(raster, 0.5, 0.5), frameColors[0])).to.be.at.most(2);
    });

    it('counts its pixels as any picture on the way does', async () => {
      const large = await pngOf(paint(300, 100, () => [1, 2, 3]));
      const narrow = { maxPixels: 20_000, maxFrames: 1 };
      const image = await bench.engine.open(await white(), narrow);
      const mark = await bench.engine.open(large, limits);
      const error = await rejectionOf(image.watermark({ mark }).encode('png'));
      expect(error).to.include({ code: 'image_too_large' });
      expect(error.message).to.contain('300 × 100 = 30000 pixels');
    });

    it('draws nothing where it is clear, however large or small', async () => {
      for (const [width, height] of [
        [1, 1],
        [500, 3],
        [3, 500],
      ] as const) {
        const logo = await pngOf(paint(width, height, () => [9, 9, 9, 0]));
        const raster = await lay(await white(), logo, { scale: 1, rotate: 10 });
        expect(raster.data.every((value) => value === 255)).to.equal(true);
      }
    });

    const wrong: [what: string, mark: (image: Image) => unknown, message: string | RegExp][] = [
      ['a mark that is no picture', (i) => i.watermark({ mark: {} as Image }), /^watermark: takes a picture/],
      [
        'a text beside it',
        (i) => i.watermark({ mark: i, text: 'a' } as never),
        /^watermark: has no option "text"/,
      ],
      ['neither', (i) => i.watermark({} as never), 'watermark: text must be a string, but is missing'],
      ['nothing', (i) => i.watermark(undefined as never), /^watermark: takes an object of/],
      [
        'an unknown position',
        (i) => i.watermark({ text: 'a', position: 'middle' as never }),
        /^watermark: position must be .*center, but is "middle"$/,
      ],
      [
        'a misspelt option',
        (i) => i.watermark({ text: 'a', fontsize: 3 } as never),
        /^watermark: has no option "fontsize"/,
      ],
      [
        'a measure in another unit',
        (i) => i.watermark({ text: 'a', margin: '3em' as never }),
        /^watermark: margin must be a whole number from 0 to 5000 \(or per cent .*\), but is "3em"$/,
      ],
      [
        'spacing outside of its tile',
        (i) => i.watermark({ text: 'a', spacing: 3 } as never),
        /^watermark: has no option "spacing"/,
      ],
      ['an endless angle', (i) => i.watermark({ text: 'a', rotate: Infinity }), /must be a finite number/],
      [
        'a colour by name',
        (i) => i.watermark({ text: 'a', color: 'red' }),
        'watermark: color must be #rrggbb or auto, but is "red"',
      ],
    ];
    for (const [what, mark, message] of wrong) {
      it(`refuses ${what} as the plugin's fault`, async () => {
        const image = await bench.engine.open(await white(), limits);
        expect(() => mark(image)).to.throw(TypeError, message);
      });
    }

    for (const [field, options] of Object.entries({
      opacity: { opacity: 1.1 },
      scale: { mark: true, scale: 0 },
      margin: { margin: -1 },
      spacing: { tile: { spacing: 5001 } },
      fontSize: { fontSize: 0 },
      outline: { outline: -1 },
      maxLines: { wrap: { maxLines: 0 } },
    })) {
      it(`refuses ${field} out of its range as the caller's`, async () => {
        const image = await bench.engine.open(await white(), limits);
        const given = 'mark' in options ? { ...options, mark: image } : { text: 'a', ...options };
        let thrown: unknown;
        try {
          image.watermark(given as never);
        } catch (error) {
          thrown = error;
        }
        expect(thrown).to.include({ code: 'invalid_input' });
        expect((thrown as { details: { field: string }[] }).details.map((each) => each.field)).to.deep.equal([
          field,
        ]);
      });
    }
  });
}
