import { expect } from 'chai';
import type {
  Corner,
  Image,
  ImageEngine,
  ImageFormat,
  WatermarkOptions,
} from '../../../pool/image/engine.js';
import type { Raster } from '../../../pool/image/raster.js';
import type { Decode } from './decoders.js';
import { brokenPictureTests } from './engine-broken.js';
import {
  animation,
  colorAt,
  distance,
  frameColors,
  limits,
  paint,
  quadrantColors,
  quadrants,
  sources,
  toSharp,
} from './pictures.js';

const formats: ImageFormat[] = ['png', 'jpg', 'webp'];
const signatures: Record<ImageFormat, string> = { png: '\x89PNG', jpg: '\xff\xd8\xff', webp: 'RIFF' };
const mediaTypes = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' };
const places = {
  topLeft: [0.25, 0.25],
  topRight: [0.75, 0.25],
  bottomLeft: [0.25, 0.75],
  bottomRight: [0.75, 0.75],
};
const purple = [128, 0, 128];

const mark: WatermarkOptions = {
  text: 'Ag©',
  position: 'bottom-right',
  opacity: 1,
  fontSize: 24,
  color: '#ff0000',
};

/** What every engine does with pictures; `decode` must be another library than the engine's own. */
export function imageEngineTests(name: string, makeEngine: () => Promise<ImageEngine>, decode: Decode): void {
  describe(`image engine ${name}`, () => {
    let engine: ImageEngine;
    before(async () => {
      engine = await makeEngine();
    });

    async function run(
      bytes: Uint8Array,
      recipe: (image: Image) => Image,
      format: ImageFormat = 'png',
    ): Promise<Raster> {
      const { body } = await recipe(await engine.open(bytes, limits)).encode(format);
      return decode(body);
    }

    function expectQuadrants(raster: Raster, tolerance: number): void {
      for (const [place, [x, y]] of Object.entries(places) as [keyof typeof places, [number, number]][]) {
        expect(distance(colorAt(raster, x, y), quadrantColors[place]), place).to.be.at.most(tolerance);
      }
    }

    describe('formats', () => {
      for (const [source, make] of Object.entries(sources)) {
        for (const format of formats) {
          it(`takes a ${source} and gives a ${format}`, async () => {
            const image = await engine.open(await make(), limits);
            expect([image.width, image.height, image.frames]).to.deep.equal([48, 32, 1]);
            const { body, type } = await image.encode(format);
            expect(type).to.equal(mediaTypes[format]);
            expect(Buffer.from(body).toString('latin1').startsWith(signatures[format])).to.equal(true);
            const raster = await decode(body);
            expect([raster.width, raster.height]).to.deep.equal([48, 32]);
            expectQuadrants(raster, 14);
          });
        }
      }

      for (const format of formats) {
        it(`gives ${format} bytes that can be moved to another thread`, async () => {
          const { body } = await (await engine.open(await sources.png(), limits)).encode(format);
          expect(body.byteLength).to.equal(body.buffer.byteLength);
          structuredClone(body, { transfer: [body.buffer as ArrayBuffer] });
          expect(body.byteLength).to.equal(0);
        });
      }

      it('keeps the pixels of a png to the last bit', async () => {
        const noise = paint(61, 47, (x, y) => [
          (x * 37 + y * 11) & 255,
          (x * y) & 255,
          (x ^ y) & 255,
          (x + y * 3) & 255,
        ]);
        const raster = await run(await toSharp(noise).png().toBuffer(), (image) => image);
        expect(Buffer.from(raster.data).equals(noise.data)).to.equal(true);
      });
    });

    describe('colours', () => {
      it('brings CMYK to sRGB', async () => {
        const cmyk = await toSharp(quadrants()).toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer();
        const raster = await run(cmyk, (image) => image);
        const [red = 0, green = 0, blue = 0] = colorAt(raster, 0.25, 0.25);
        expect(red)
          .to.be.greaterThan(green + 80)
          .and.greaterThan(blue + 80);
      });

      for (const format of ['jpeg', 'png'] as const) {
        it(`paints a coloured border on a grey ${format}`, async () => {
          const grey = toSharp(paint(32, 32, () => [90, 90, 90])).toColourspace('b-w');
          const raster = await run(await grey.toFormat(format).toBuffer(), (image) =>
            image.border({ width: 8, color: '#800080' }),
          );
          expect(colorAt(raster, 0, 0).slice(0, 3)).to.deep.equal(purple);
          expect(distance(colorAt(raster, 0.5, 0.5), [90, 90, 90])).to.be.at.most(2);
        });
      }
    });

    describe('orientation', () => {
      for (const format of ['jpeg', 'png', 'webp'] as const) {
        for (let orientation = 1; orientation <= 8; orientation++) {
          it(`turns a ${format} with EXIF ${orientation} upright`, async () => {
            const stored = toSharp(store(quadrants(), orientation)).withMetadata({ orientation });
            const image = await engine.open(
              await stored.toFormat(format, { quality: 95 }).toBuffer(),
              limits,
            );
            expect([image.width, image.height]).to.deep.equal([48, 32]);
            const raster = await decode((await image.encode('png')).body);
            expect([raster.width, raster.height]).to.deep.equal([48, 32]);
            expectQuadrants(raster, 20);
          });
        }
      }
    });

    describe('border', () => {
      for (const format of formats) {
        it(`is of the colour and width asked for on each side of a ${format}`, async () => {
          const raster = await run(
            await sources.png(),
            (image) => image.border({ width: 24, color: '#800080' }),
            format,
          );
          expect([raster.width, raster.height]).to.deep.equal([96, 80]);
          const tolerance = format === 'png' ? 0 : 12;
          for (const [x, y] of [
            [0, 0],
            [0.99, 0],
            [0, 0.99],
            [0.99, 0.99],
            [0.5, 0.05],
            [0.05, 0.5],
            [0.5, 0.95],
            [0.95, 0.5],
          ] as const) {
            expect(distance(colorAt(raster, x, y), purple), `${x} ${y}`).to.be.at.most(tolerance);
          }
        });
      }

      it('starts at the exact pixel', async () => {
        const raster = await run(await sources.png(), (image) =>
          image.border({ width: 3, color: '#800080' }),
        );
        const at = (x: number, y: number) => [
          ...raster.data.subarray((y * 54 + x) * 4, (y * 54 + x) * 4 + 3),
        ];
        expect([at(2, 20), at(20, 2), at(51, 20), at(20, 35)]).to.deep.equal([
          purple,
          purple,
          purple,
          purple,
        ]);
        expect(at(3, 3)).to.deep.equal(quadrantColors.topLeft);
        expect(at(50, 34)).to.deep.equal(quadrantColors.bottomRight);
      });

      it('of width 0 changes nothing', async () => {
        const raster = await run(await sources.png(), (image) =>
          image.border({ width: 0, color: '#800080' }),
        );
        expect(
          Buffer.from(raster.data).equals((await run(await sources.png(), (image) => image)).data),
        ).to.equal(true);
      });

      it('goes around another border, in the order in which they were asked for', async () => {
        const raster = await run(await sources.png(), (image) =>
          image.border({ width: 2, color: '#ff0000' }).border({ width: 4, color: '#00ff00' }),
        );
        expect([raster.width, raster.height]).to.deep.equal([60, 44]);
        expect(colorAt(raster, 0, 0).slice(0, 3)).to.deep.equal([0, 255, 0]);
        expect([...raster.data.subarray((5 * 60 + 5) * 4, (5 * 60 + 5) * 4 + 3)]).to.deep.equal([255, 0, 0]);
      });

      it('lets an image be used again for another result', async () => {
        const image = await engine.open(await sources.png(), limits);
        await image.border({ width: 2, color: '#ff0000' }).encode('png');
        expect((await decode((await image.encode('png')).body)).width).to.equal(48);
      });
    });

    describe('transparency', () => {
      const clear = () =>
        toSharp(paint(40, 40, () => [0, 0, 255, 0]))
          .png()
          .toBuffer();
      const border = (image: Image) => image.border({ width: 10, color: '#800080' });

      for (const format of ['png', 'webp'] as const) {
        it(`stays inside the border of a ${format}`, async () => {
          const raster = await run(await clear(), border, format);
          expect(colorAt(raster, 0.5, 0.5)[3]).to.equal(0);
          expect(distance(colorAt(raster, 0, 0), [...purple, 255])).to.be.at.most(6);
        });
      }

      it('is laid on white in a jpg', async () => {
        const raster = await run(await clear(), border, 'jpg');
        expect(distance(colorAt(raster, 0.5, 0.5), [255, 255, 255])).to.be.at.most(3);
      });

      it('takes a watermark of the colour asked for', async () => {
        const raster = await run(await clear(), (image) => image.watermark(mark));
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
          const raster = await run(await white(), (image) => image.watermark({ ...mark, position }));
          const { box, count } = inked(raster, (pixel) => pixel[1] !== 255);
          expect(count).to.be.greaterThan(50);
          expect(holds(box), JSON.stringify(box)).to.equal(true);
          expect(Math.min(box.left, box.top, 119 - box.right, 89 - box.bottom)).to.be.at.least(4);
          expect([box.right - box.left, box.bottom - box.top].every((side) => side < 60)).to.equal(true);
        });
      }

      it('is invisible at opacity 0, solid at 1 and half way at 0.5', async () => {
        const darkest = async (opacity: number) => {
          const raster = await run(await white(), (image) =>
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
          const raster = await run(source, (image) =>
            image.watermark({ ...mark, text: 'W'.repeat(500), fontSize: 1000 }),
          );
          expect([raster.width, raster.height]).to.deep.equal([width, height]);
        });
      }

      it('of spaces draws nothing', async () => {
        const raster = await run(await white(), (image) => image.watermark({ ...mark, text: '   ' }));
        expect(inked(raster, (pixel) => pixel[1] !== 255).count).to.equal(0);
      });

      it("with a character that no font draws is the input's fault", async () => {
        const image = (await engine.open(await white(), limits)).watermark({ ...mark, text: 'a\u4e2d' });
        const error = await image.encode('png').then(
          () => undefined,
          (caught) => caught,
        );
        expect(error).to.include({ code: 'invalid_input' });
        expect(error.details[0].field).to.equal('text');
        expect(error.details[0].problem).to.include('\u4e2d');
      });

      it('is drawn over a border that came first and under one that came after', async () => {
        const over = await run(await white(), (image) =>
          image.border({ width: 40, color: '#ffffff' }).watermark(mark),
        );
        expect(inked(over, (pixel) => pixel[1] !== 255).box.bottom).to.be.greaterThan(140);
        const under = await run(await white(), (image) =>
          image.watermark(mark).border({ width: 40, color: '#ffffff' }),
        );
        expect(inked(under, (pixel) => pixel[1] !== 255).box.bottom).to.be.lessThan(130);
      });
    });

    describe('animation', () => {
      for (const format of ['gif', 'webp'] as const) {
        it(`gives the first frame of a ${format} as png and jpg`, async () => {
          const source = await animation()
            .toFormat(format, { lossless: true } as object)
            .toBuffer();
          for (const output of ['png', 'jpg'] as const) {
            const raster = await run(source, (image) => image.border({ width: 8, color: '#ffffff' }), output);
            expect([raster.width, raster.height]).to.deep.equal([56, 40]);
            expect(distance(colorAt(raster, 0.5, 0.5), frameColors[0])).to.be.at.most(8);
          }
        });
      }
    });

    brokenPictureTests(() => engine);
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
    const pixel = [...raster.data.subarray(i * 4, i * 4 + 4)];
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

/** Where row r and column c of the stored picture are seen; the wording of EXIF 2.32 for tag 0x0112, as formulas. */
const seen: Record<number, (r: number, c: number, w: number, h: number) => [x: number, y: number]> = {
  1: (r, c) => [c, r],
  2: (r, c, w) => [w - 1 - c, r],
  3: (r, c, w, h) => [w - 1 - c, h - 1 - r],
  4: (r, c, _w, h) => [c, h - 1 - r],
  5: (r, c) => [r, c],
  6: (r, c, w) => [w - 1 - r, c],
  7: (r, c, w, h) => [w - 1 - r, h - 1 - c],
  8: (r, c, _w, h) => [r, h - 1 - c],
};

function store(upright: Raster, orientation: number): Raster {
  const { width: w, height: h, data } = upright;
  const swap = orientation > 4;
  return paint(swap ? h : w, swap ? w : h, (column, row) => {
    const [x, y] = (seen[orientation] as (typeof seen)[1])(row, column, w, h);
    return [...data.subarray((y * w + x) * 3, (y * w + x) * 3 + 3)];
  });
}
