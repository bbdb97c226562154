import { expect } from 'chai';
import sharp from 'sharp';
import type { Image, ResizeOptions } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import {
  colorAt,
  distance,
  limits,
  paint,
  pngOf,
  quadrantColors,
  quadrants,
  sources,
  toSharp,
} from '../pictures.js';
import { type EngineBench, formats, psnr, purple, resizedByVips, rings } from './bench.js';

/** Borders: colour, width, order. */
export function borderTests(bench: EngineBench): void {
  describe('border', () => {
    for (const format of formats) {
      it(`is of the colour and width asked for on each side of a ${format}`, async () => {
        const raster = await bench.run(
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
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 3, color: '#800080' }),
      );
      const at = (x: number, y: number) => [...raster.data.subarray((y * 54 + x) * 4, (y * 54 + x) * 4 + 3)];
      expect([at(2, 20), at(20, 2), at(51, 20), at(20, 35)]).to.deep.equal([purple, purple, purple, purple]);
      expect(at(3, 3)).to.deep.equal(quadrantColors.topLeft);
      expect(at(50, 34)).to.deep.equal(quadrantColors.bottomRight);
    });

    it('of width 0 changes nothing', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 0, color: '#800080' }),
      );
      expect(
        Buffer.from(raster.data).equals((await bench.run(await sources.png(), (image) => image)).data),
      ).to.equal(true);
    });

    it('may be of another width on each side, in pixels and per cent of the shorter side', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 1, top: 2, right: '25%', left: 0, color: '#800080' }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48 + 8, 32 + 3]);
      const at = (x: number, y: number) => [...raster.data.subarray((y * 56 + x) * 4, (y * 56 + x) * 4 + 3)];
      expect([at(0, 1), at(48, 10), at(55, 10), at(10, 34)]).to.deep.equal([purple, purple, purple, purple]);
      expect(at(0, 2)).to.deep.equal(quadrantColors.topLeft);
      expect(at(47, 33)).to.deep.equal(quadrantColors.bottomRight);
    });

    it('lies over the edges where it is inset, and then the size stays', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 3, bottom: 5, color: '#800080', inset: true }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
      const at = (x: number, y: number) => [...raster.data.subarray((y * 48 + x) * 4, (y * 48 + x) * 4 + 3)];
      expect([at(2, 15), at(45, 15), at(20, 2), at(20, 27)]).to.deep.equal([purple, purple, purple, purple]);
      expect(at(3, 3)).to.deep.equal(quadrantColors.topLeft);
      expect(at(44, 26)).to.deep.equal(quadrantColors.bottomRight);
    });

    it('covers a picture that is smaller than its inset widths', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 5000, color: '#800080', inset: true }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
      for (let i = 0; i < raster.data.length; i += 4) {
        expect([...raster.data.subarray(i, i + 4)]).to.deep.equal([...purple, 255]);
      }
    });

    it('has round corners, clear outside, and white in a jpg', async () => {
      const round = (image: Image) => image.border({ width: 4, color: '#800080', radius: 10 });
      const raster = await bench.run(await sources.png(), round);
      expect(colorAt(raster, 0, 0)).to.deep.equal([0, 0, 0, 0]);
      expect(colorAt(raster, 0.5, 0)).to.deep.equal([...purple, 255]);
      const jpg = await bench.run(await sources.png(), round, 'jpg');
      expect(distance(colorAt(jpg, 0, 0), [255, 255, 255])).to.be.at.most(12);
    });

    it('rounds a picture alone, too, as far as it is round', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 0, color: '#800080', radius: 5000 }),
      );
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
      expect(colorAt(raster, 0, 0.99)[3]).to.equal(0);
      expect(colorAt(raster, 0.25, 0.25)).to.deep.equal([...quadrantColors.topLeft, 255]);
    });

    it('takes no width but pixels and per cent', async () => {
      const image = await bench.engine.open(await sources.png(), limits);
      const border = (options: object) => () => image.border({ width: 1, color: '#000000', ...options });
      for (const top of ['5', 'auto', 1.5, null, '-1%', '1e1%']) {
        expect(border({ top }), `top ${top}`).to.throw(TypeError, 'top');
      }
      expect(border({ top: '101%' }))
        .to.throw()
        .with.property('code', 'invalid_input');
      expect(border({ radius: -1 }))
        .to.throw()
        .with.property('code', 'invalid_input');
      expect(border({ left: 16_384 }))
        .to.throw()
        .with.property('code', 'invalid_input');
      expect(border({ color: 'red' })).to.throw(TypeError, '#rrggbb');
      expect(border({ wdth: 3 })).to.throw(TypeError, 'wdth');
    });

    it('goes around another border, in the order in which they were asked for', async () => {
      const raster = await bench.run(await sources.png(), (image) =>
        image.border({ width: 2, color: '#ff0000' }).border({ width: 4, color: '#00ff00' }),
      );
      expect([raster.width, raster.height]).to.deep.equal([60, 44]);
      expect(colorAt(raster, 0, 0).slice(0, 3)).to.deep.equal([0, 255, 0]);
      expect([...raster.data.subarray((5 * 60 + 5) * 4, (5 * 60 + 5) * 4 + 3)]).to.deep.equal([255, 0, 0]);
    });

    it('lets an image be used again for another result', async () => {
      const image = await bench.engine.open(await sources.png(), limits);
      await image.border({ width: 2, color: '#ff0000' }).encode('png');
      expect((await bench.decode((await image.encode('png')).body)).width).to.equal(48);
    });
  });
}

const checkered = paint(23, 17, (x, y) => [x * 11, y * 15, (x * y) & 255, 40 + x * 9]);

/** Crops, turns and overlays, end to end; their pixels are judged by models of each in test/pool/image/geometry/. */
export function geometryTests(bench: EngineBench): void {
  const source = () => pngOf(checkered);
  const pixel = (x: number, y: number) => {
    const at = (y * 23 + x) * 4;
    return [...checkered.data.subarray(at, at + 4)];
  };

  describe('crop', () => {
    for (const [left, top, width, height] of [
      [0, 0, 23, 17],
      [3, 5, 7, 11],
      [22, 16, 1, 1],
    ] as const) {
      it(`of ${width} × ${height} at ${left}, ${top} gives just these pixels`, async () => {
        const image = (await bench.engine.open(await source(), limits)).crop({ left, top, width, height });
        expect([image.width, image.height]).to.deep.equal([width, height]);
        const raster = await bench.decode((await image.encode('png')).body);
        expect([raster.width, raster.height]).to.deep.equal([width, height]);
        expect([...raster.data.subarray(0, 4)]).to.deep.equal(pixel(left, top));
        expect([...raster.data.subarray(-4)]).to.deep.equal(pixel(left + width - 1, top + height - 1));
      });
    }

    it('is of the picture as it is after its orientation and the operations before', async () => {
      const turned = await toSharp(paint(40, 20, (x) => (x < 20 ? [200, 0, 0] : [0, 0, 200])))
        .withMetadata({ orientation: 6 })
        .png()
        .toBuffer();
      const lower = await bench.run(turned, (image) =>
        image.crop({ left: 0, top: 20, width: 20, height: 20 }),
      );
      expect(colorAt(lower, 0.5, 0.1)).to.deep.equal([0, 0, 200, 255]);
      const framed = await bench.run(turned, (image) =>
        image.border({ width: 5, color: '#00ff00' }).crop({ left: 0, top: 0, width: 6, height: 6 }),
      );
      expect(colorAt(framed, 0, 0)).to.deep.equal([0, 255, 0, 255]);
      expect(colorAt(framed, 0.99, 0.99)).to.deep.equal([200, 0, 0, 255]);
    });

    for (const format of formats) {
      it(`at once gives a ${format}`, async () => {
        const raster = await bench.run(
          await sources.jpeg(),
          (image) => image.crop({ left: 24, top: 16, width: 20, height: 10 }),
          format,
        );
        expect([raster.width, raster.height]).to.deep.equal([20, 10]);
        expect(distance(colorAt(raster, 0.5, 0.5), [240, 230, 200])).to.be.at.most(14);
      });
    }
  });

  describe('rotate', () => {
    for (const [degrees, corner] of [
      [90, [0, 16]],
      [180, [22, 16]],
      [-90, [22, 0]],
      [270, [22, 0]],
      [450, [0, 16]],
      [-720, [0, 0]],
    ] as const) {
      it(`by ${degrees} moves pixels and changes none`, async () => {
        const image = (await bench.engine.open(await source(), limits)).rotate(degrees);
        const raster = await bench.decode((await image.encode('png')).body);
        expect([raster.width, raster.height]).to.deep.equal([image.width, image.height]);
        expect([image.width, image.height]).to.deep.equal(degrees % 180 ? [17, 23] : [23, 17]);
        expect([...raster.data.subarray(0, 4)]).to.deep.equal(pixel(corner[0], corner[1]));
      });
    }

    for (const format of formats) {
      it(`by 45 is ${format === 'jpg' ? 'white' : 'transparent'} around the picture in a ${format}`, async () => {
        const square = toSharp(paint(50, 50, () => [200, 0, 0]));
        const image = (await bench.engine.open(await square.png().toBuffer(), limits)).rotate(45);
        expect([image.width, image.height]).to.deep.equal([71, 71]);
        const raster = await bench.decode((await image.encode(format)).body);
        expect([raster.width, raster.height]).to.deep.equal([71, 71]);
        expect(distance(colorAt(raster, 0.5, 0.5), [200, 0, 0, 255])).to.be.at.most(12);
        const corner = colorAt(raster, 0.02, 0.02);
        if (format === 'jpg') expect(distance(corner, [255, 255, 255])).to.be.at.most(8);
        else expect(corner[3]).to.be.at.most(2);
      });
    }
  });

  describe('composite', () => {
    const red = () => pngOf(paint(30, 20, () => [200, 0, 0]));
    const veil = () => pngOf(paint(10, 10, () => [0, 0, 255, 128]));

    it('lays a picture over another where it is told to, and cuts off what lies outside', async () => {
      const base = await bench.engine.open(await red(), limits);
      const overlay = await bench.engine.open(await veil(), limits);
      const image = base.composite(overlay, { left: 25, top: -5 });
      expect([image.width, image.height]).to.deep.equal([30, 20]);
      const raster = await bench.decode((await image.encode('png')).body);
      const at = (x: number, y: number) => [...raster.data.subarray((y * 30 + x) * 4, (y * 30 + x) * 4 + 4)];
      expect([at(25, 0), at(29, 4)]).to.deep.equal([
        [100, 0, 128, 255],
        [100, 0, 128, 255],
      ]);
      expect([at(24, 0), at(25, 5)]).to.deep.equal([
        [200, 0, 0, 255],
        [200, 0, 0, 255],
      ]);
    });

    it('does the operations of the overlay first, and those that follow after', async () => {
      const overlay = (await bench.engine.open(await veil(), limits))
        .resize({ width: 4 })
        .border({ width: 3, color: '#00ff00' });
      const raster = await bench.run(await red(), (image) =>
        image.composite(overlay).rotate(90).border({ width: 1, color: '#ffffff' }),
      );
      expect([raster.width, raster.height]).to.deep.equal([22, 32]);
      expect(colorAt(raster, 0.9, 0.05)).to.deep.equal([0, 255, 0, 255]);
      expect(distance(colorAt(raster, 0.75, 0.18), [100, 0, 128, 255])).to.be.at.most(2);
    });

    it('takes a picture over itself, far outside too', async () => {
      const raster = await bench.run(await red(), (image) =>
        image.composite(image.rotate(30), { left: 900, top: -9e15 }),
      );
      expect(colorAt(raster, 0.5, 0.5)).to.deep.equal([200, 0, 0, 255]);
    });

    it('keeps an overlay transparent in a jpg', async () => {
      const overlay = await bench.engine.open(await veil(), limits);
      const raster = await bench.run(
        await red(),
        (image) => image.composite(overlay.resize({ width: 30 })),
        'jpg',
      );
      expect(distance(colorAt(raster, 0.5, 0.5), [100, 0, 128])).to.be.at.most(14);
    });
  });
}

const sizes: [ResizeOptions, [number, number]][] = [
  [{ width: 24 }, [24, 16]],
  [{ height: 64 }, [96, 64]],
  [{ width: 1 }, [1, 1]],
  [{ width: 31 }, [31, 21]],
  [{ width: 20, height: 20 }, [20, 20]],
  [{ width: 20, height: 20, fit: 'fill' }, [20, 20]],
  [{ width: 20, height: 20, fit: 'inside' }, [20, 13]],
  [{ width: 100, height: 40, fit: 'inside' }, [60, 40]],
  [{ width: 48, height: 32 }, [48, 32]],
  [{ width: 24, height: undefined, fit: 'cover' }, [24, 16]],
];

/** Other sizes: how large, how filled, how good. */
export function resizeTests(bench: EngineBench): void {
  describe('resize', () => {
    for (const [options, size] of sizes) {
      it(`of 48 × 32 with ${JSON.stringify(options)} gives ${size.join(' × ')}`, async () => {
        const image = (await bench.engine.open(await sources.png(), limits)).resize(options);
        expect([image.width, image.height]).to.deep.equal(size);
        const raster = await bench.decode((await image.encode('png')).body);
        expect([raster.width, raster.height]).to.deep.equal(size);
      });
    }

    it('keeps colours in their places', async () => {
      for (const [source, make] of Object.entries(sources)) {
        const raster = await bench.run(await make(), (image) => image.resize({ width: 24 }));
        expect(distance(colorAt(raster, 0.25, 0.25), quadrantColors.topLeft), source).to.be.at.most(14);
        expect(distance(colorAt(raster, 0.75, 0.75), quadrantColors.bottomRight), source).to.be.at.most(14);
      }
    });

    for (const [fit, corner] of [
      ['cover', [0, 255, 0]],
      ['inside', [255, 0, 0]],
      ['fill', [255, 0, 0]],
    ] as const) {
      it(`of a wide picture to a square by ${fit} ${fit === 'cover' ? 'loses' : 'keeps'} its ends`, async () => {
        const striped = paint(60, 20, (x) => (x < 20 ? [255, 0, 0] : x < 40 ? [0, 255, 0] : [0, 0, 255]));
        const raster = await bench.run(await pngOf(striped), (image) =>
          image.resize({ width: 30, height: 30, fit }),
        );
        // Next to the edge, off the kernel's ringing.
        expect(distance(colorAt(raster, 0.08, 0.5), [...corner, 255])).to.be.at.most(12);
        if (fit === 'fill') expect(distance(colorAt(raster, 0.5, 0.5), [0, 255, 0, 255])).to.be.at.most(12);
      });
    }

    for (const size of [{ width: 100 }, { width: 260 }, { width: 200, height: 61, fit: 'fill' }] as const) {
      for (const first of [false, true]) {
        it(`to ${JSON.stringify(size)} ${first ? 'at once' : 'after a turn'} is near to Lanczos by libvips`, async () => {
          const picture = await rings();
          const result = await bench.run(picture, (image) =>
            (first ? image : image.rotate(180).rotate(180)).resize(size),
          );
          const expected = await resizedByVips(picture, result.width, result.height);
          expect(psnr(result, expected)).to.be.greaterThan(50);
        });
      }
    }

    it('of a jpeg that is decoded smaller is near to Lanczos of the whole', async () => {
      const jpeg = await sharp(await rings())
        .jpeg({ quality: 98, chromaSubsampling: '4:4:4' })
        .toBuffer();
      const result = await bench.run(jpeg, (image) => image.resize({ width: 60 }));
      expect(psnr(result, await resizedByVips(jpeg, 60, 40))).to.be.greaterThan(45);
    });

    it('lends transparent pixels no colour', async () => {
      const edge = paint(64, 16, (x) => (x < 32 ? [255, 0, 0, 255] : [0, 255, 0, 0]));
      const png = await pngOf(edge);
      for (const size of [{ width: 13 }, { width: 150 }]) {
        const raster = await bench.run(png, (image) => image.resize(size));
        for (const [red, green, , alpha] of pixels(raster)) {
          // Of what is nearly clear, 8 bits hold no colour.
          if ((alpha as number) < 16) continue;
          expect(
            [red as number, green as number].map((value, i) => Math.abs(value - (i ? 0 : 255)) < 16),
          ).to.deep.equal([true, true]);
        }
      }
    });

    for (const format of formats) {
      it(`of a transparent picture to a ${format} is laid on white only in a jpg`, async () => {
        const clear = paint(40, 40, (x) => [0, 0, 255, x < 20 ? 0 : 255]);
        const raster = await bench.run(await pngOf(clear), (image) => image.resize({ width: 20 }), format);
        const [left, right] = [colorAt(raster, 0.2, 0.5), colorAt(raster, 0.8, 0.5)];
        if (format === 'jpg') expect(distance(left, [255, 255, 255])).to.be.at.most(4);
        else expect(left[3]).to.be.at.most(2);
        expect(distance(right, [0, 0, 255])).to.be.at.most(8);
      });
    }

    for (const space of ['b-w', 'cmyk'] as const) {
      it(`takes a jpeg in ${space}, shrunk so far that it is decoded smaller`, async () => {
        const grey = paint(200, 150, (x) => (x < 100 ? [40, 40, 40] : [220, 220, 220]));
        const jpeg = await toSharp(grey).toColourspace(space).jpeg({ quality: 95 }).toBuffer();
        const whole = await bench.run(jpeg, (image) => image);
        for (const format of formats) {
          const raster = await bench.run(
            jpeg,
            (image) => image.resize({ width: 48 }).border({ width: 8, color: '#800080' }),
            format,
          );
          expect([raster.width, raster.height]).to.deep.equal([64, 52]);
          expect(distance(colorAt(raster, 0.27, 0.5), colorAt(whole, 0.25, 0.5))).to.be.at.most(12);
          expect(distance(colorAt(raster, 0.73, 0.5), colorAt(whole, 0.75, 0.5))).to.be.at.most(12);
          expect(distance(colorAt(raster, 0, 0), [128, 0, 128])).to.be.at.most(30);
        }
      });
    }

    for (let orientation = 1; orientation <= 8; orientation++) {
      it(`applies orientation ${orientation} first`, async () => {
        const stored = toSharp(quadrants(200, 120)).withMetadata({ orientation });
        const jpeg = await stored.jpeg({ quality: 95 }).toBuffer();
        const upright = await bench.run(jpeg, (image) => image);
        const image = (await bench.engine.open(jpeg, limits)).resize({ width: 30, height: 20, fit: 'fill' });
        expect([image.width, image.height]).to.deep.equal([30, 20]);
        const raster = await bench.decode((await image.encode('png')).body);
        expect([raster.width, raster.height]).to.deep.equal([30, 20]);
        for (const [x, y] of [
          [0.25, 0.25],
          [0.75, 0.25],
          [0.25, 0.75],
          [0.75, 0.75],
        ] as const) {
          expect(distance(colorAt(raster, x, y), colorAt(upright, x, y)), `${x} ${y}`).to.be.at.most(14);
        }
      });
    }

    it('follows a crop, and sees nothing of what was cut off', async () => {
      const halves = paint(80, 20, (x) => (x < 40 ? [250, 0, 0] : [0, 0, 250]));
      const raster = await bench.run(await pngOf(halves), (image) =>
        image.crop({ left: 40, top: 0, width: 40, height: 20 }).resize({ width: 10 }),
      );
      for (const [red, green, blue] of pixels(raster)) expect([red, green, blue]).to.deep.equal([0, 0, 250]);
    });
  });
}

function pixels({ data }: Raster): number[][] {
  return Array.from({ length: data.length / 4 }, (_, i) => [...data.subarray(i * 4, i * 4 + 4)]);
}
