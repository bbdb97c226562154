import { expect } from 'chai';
import {
  animation,
  colorAt,
  distance,
  expectQuadrants,
  frameColors,
  limits,
  paint,
  quadrants,
  sources,
  storeTurned,
  toSharp,
} from '../pictures.js';
import { type EngineBench, formats, purple } from './bench.js';

const signatures = { png: '\x89PNG', jpg: '\xff\xd8\xff', webp: 'RIFF' };
const mediaTypes = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' };

/** Each format that goes in as each that comes out, and turned as each camera does; not `all`: each of them once. */
export function conversionTests(bench: EngineBench, all: boolean): void {
  describe('conversions', () => {
    for (const [index, [source, make]] of Object.entries(sources).entries()) {
      for (const format of all ? formats : [formats[index % formats.length] as (typeof formats)[number]]) {
        it(`take a ${source} and give a ${format}`, async () => {
          const image = await bench.engine.open(await make(), limits);
          expect([image.width, image.height, image.frames]).to.deep.equal([48, 32, 1]);
          const { body, type } = await image.encode(format);
          expect(type).to.equal(mediaTypes[format]);
          expect(Buffer.from(body).toString('latin1').startsWith(signatures[format])).to.equal(true);
          const raster = await bench.decode(body);
          expect([raster.width, raster.height]).to.deep.equal([48, 32]);
          expectQuadrants(raster, 14);
        });
      }
    }

    for (const format of ['jpeg', 'png', 'webp'] as const) {
      for (let orientation = 1; orientation <= 8; orientation += all || format === 'jpeg' ? 1 : 5) {
        it(`turn a ${format} with EXIF ${orientation} upright`, async () => {
          const stored = toSharp(storeTurned(quadrants(), orientation)).withMetadata({ orientation });
          const image = await bench.engine.open(
            await stored.toFormat(format, { quality: 95 }).toBuffer(),
            limits,
          );
          expect([image.width, image.height]).to.deep.equal([48, 32]);
          const raster = await bench.decode((await image.encode('png')).body);
          expect([raster.width, raster.height]).to.deep.equal([48, 32]);
          expectQuadrants(raster, 20);
        });
      }
    }
  });
}

/** What comes out: bytes, colours, the first frame. */
export function formatTests(bench: EngineBench): void {
  describe('formats', () => {
    for (const format of formats) {
      it(`gives ${format} bytes that can be moved to another thread`, async () => {
        const { body } = await (await bench.engine.open(await sources.png(), limits)).encode(format);
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
      const raster = await bench.run(await toSharp(noise).png().toBuffer(), (image) => image);
      expect(Buffer.from(raster.data).equals(noise.data)).to.equal(true);
    });
  });

  describe('colours', () => {
    it('brings CMYK to sRGB', async () => {
      const cmyk = await toSharp(quadrants()).toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer();
      const raster = await bench.run(cmyk, (image) => image);
      const [red = 0, green = 0, blue = 0] = colorAt(raster, 0.25, 0.25);
      expect(red)
        .to.be.greaterThan(green + 80)
        .and.greaterThan(blue + 80);
    });

    for (const format of ['jpeg', 'png'] as const) {
      it(`paints a coloured border on a grey ${format}`, async () => {
        const grey = toSharp(paint(32, 32, () => [90, 90, 90])).toColourspace('b-w');
        const raster = await bench.run(await grey.toFormat(format).toBuffer(), (image) =>
          image.border({ width: 8, color: '#800080' }),
        );
        expect(colorAt(raster, 0, 0).slice(0, 3)).to.deep.equal(purple);
        expect(distance(colorAt(raster, 0.5, 0.5), [90, 90, 90])).to.be.at.most(2);
      });
    }
  });

  describe('animation', () => {
    for (const format of ['gif', 'webp'] as const) {
      it(`gives the first frame of a ${format} as png and jpg`, async () => {
        const source = await animation()
          .toFormat(format, { lossless: true } as object)
          .toBuffer();
        for (const output of ['png', 'jpg'] as const) {
          const raster = await bench.run(
            source,
            (image) => image.border({ width: 8, color: '#ffffff' }),
            output,
          );
          expect([raster.width, raster.height]).to.deep.equal([56, 40]);
          expect(distance(colorAt(raster, 0.5, 0.5), frameColors[0])).to.be.at.most(8);
        }
      });
    }
  });
}
