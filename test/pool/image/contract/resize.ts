import { expect } from 'chai';
import sharp from 'sharp';
import type { ResizeOptions } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import {
  colorAt,
  distance,
  limits,
  paint,
  quadrantColors,
  quadrants,
  sources,
  toSharp,
} from '../pictures.js';
import { type EngineBench, formats } from './bench.js';
import { psnr, resizedByVips, rings } from './examples.js';

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
        const raster = await bench.run(await toSharp(striped).png().toBuffer(), (image) =>
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
      const png = await toSharp(edge).png().toBuffer();
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
        const raster = await bench.run(
          await toSharp(clear).png().toBuffer(),
          (image) => image.resize({ width: 20 }),
          format,
        );
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
      const raster = await bench.run(await toSharp(halves).png().toBuffer(), (image) =>
        image.crop({ left: 40, top: 0, width: 40, height: 20 }).resize({ width: 10 }),
      );
      for (const [red, green, blue] of pixels(raster)) expect([red, green, blue]).to.deep.equal([0, 0, 250]);
    });
  });
}

function pixels({ data }: Raster): number[][] {
  return Array.from({ length: data.length / 4 }, (_, i) => [...data.subarray(i * 4, i * 4 + 4)]);
}
