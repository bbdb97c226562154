import { expect } from 'chai';
import type { EncodeOptions, Image, ImageEngine, OutputFormat } from '../../../../pool/image/engine.js';
import { canEncode } from '../../../../pool/image/options.js';
import {
  animation,
  colorAt,
  distance,
  expectQuadrants,
  frameColors,
  limits,
  paint,
  pngOf,
  quadrantColors,
  quadrants,
  rejectionOf,
  sources,
  storeTurned,
  toSharp,
} from '../pictures.js';
import { type EngineBench, example, formats, purple } from './bench.js';

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
      const raster = await bench.run(await pngOf(noise), (image) => image);
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

/** `same`, and what an engine does not write. */
export function outputTests(bench: EngineBench, name: ImageEngine['name']): void {
  async function encoding(source: Uint8Array, format: OutputFormat, options?: EncodeOptions) {
    const image: Image = await bench.engine.open(source, limits);
    return image.border({ width: 4, color: '#800080' }).encode(format, options);
  }

  async function details(...asked: Parameters<typeof encoding>): Promise<unknown> {
    const error = await rejectionOf(encoding(...asked));
    expect(error?.code).to.equal('invalid_input');
    return error.details;
  }

  describe('the format of the source', () => {
    const types = { jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp' };
    for (const [source, type] of Object.entries(types) as [keyof typeof types, string][]) {
      it(`is kept of a ${source}`, async () => {
        const result = await encoding(await sources[source](), 'same');
        expect(result.type).to.equal(type);
        const raster = await bench.decode(result.body);
        expect([raster.width, raster.height]).to.deep.equal([56, 40]);
        expect(distance(colorAt(raster, 0.3, 0.3), quadrantColors.topLeft)).to.be.at.most(14);
      });
    }

    for (const source of ['jpeg', 'webp'] as const) {
      it(`takes a quality where it is ${source}`, async () => {
        const picture = toSharp(quadrants(200, 150)).blur(3).toFormat(source);
        const large = await encoding(await picture.toBuffer(), 'same', { quality: 95 });
        const small = await encoding(await picture.toBuffer(), 'same', { quality: 5 });
        expect(small.body.byteLength).to.be.lessThan(large.body.byteLength);
      });
    }

    it('takes none where it is png', async () => {
      expect(await details(await sources.png(), 'same', { quality: 80 })).to.deep.equal([
        { field: 'quality', problem: 'is for jpg, webp and avif; the picture is a png, and has none' },
      ]);
    });

    it('is no excuse for a quality that there is not', async () => {
      expect(await details(await sources.jpeg(), 'same', { quality: 101 })).to.deep.equal([
        { field: 'quality', problem: 'must be a whole number from 1 to 100, but is 101' },
      ]);
    });
  });

  if (canEncode(name, 'avif')) return;
  describe('a format that another engine writes', () => {
    const elsewhere = 'sharp does, where HELPER_IMAGE_ENGINE lets it and it is installed';

    it('is refused by name, the engine’s too', async () => {
      for (const [source, format, what, able] of [
        ['png', 'avif', 'avif', 'png, jpg, webp or same'],
        ['gif', 'same', 'gif', 'png, jpg or webp'],
      ] as const) {
        const problem = `must be ${able} here: the image engine ${name} writes no ${what}; ${elsewhere}`;
        expect(await details(await sources[source](), format)).to.deep.equal([{ field: 'format', problem }]);
      }
    });

    it('is refused before a pixel is decoded', async () => {
      const broken = await sources.png();
      broken.fill(0xff, broken.indexOf('IDAT') + 4, broken.length - 12);
      expect(await details(broken, 'avif')).to.have.length(1);
    });

    it('is not what an animation quietly becomes', async () => {
      const moving = await animation().webp({ lossless: true }).toBuffer();
      const problem = `must be png, jpg or webp here, which give the first frame: this webp is animated, and the image engine ${name} writes no animations; ${elsewhere}`;
      expect(await details(moving, 'same')).to.deep.equal([{ field: 'format', problem }]);
    });
  });
}

const files = [
  ['png', 'png', 'image/png'],
  ['jpeg', 'jpg', 'image/jpeg'],
  ['webp', 'webp', 'image/webp'],
  ['gif', 'gif', 'image/gif'],
] as const;

/** What a picture tells of the file that it is. */
export function sourceTests(bench: EngineBench): void {
  describe('the source', () => {
    for (const [source, format, type] of files) {
      it(`of a ${source} is called ${format}, also after an operation`, async () => {
        const image = await bench.engine.open(await sources[source](), limits);
        expect([image.format, image.type]).to.deep.equal([format, type]);
        const cut = image.crop({ left: 0, top: 0, width: 5, height: 5 });
        expect([cut.format, cut.type]).to.deep.equal([format, type]);
      });
    }

    it('is there as it came, the same bytes each time', async () => {
      const source = await sources.gif();
      const image = await bench.engine.open(source, limits);
      expect(source.equals(image.bytes)).to.equal(true);
      expect(image.rotate(90).bytes).to.equal(image.bytes);
      expect(image.bytes.byteLength).to.equal(image.bytes.buffer.byteLength);
    });

    it('may be written into and moved away without harm to the picture', async () => {
      const image = await bench.engine.open(await sources.png(), limits);
      image.bytes.fill(7);
      structuredClone(image.bytes, { transfer: [image.bytes.buffer as ArrayBuffer] });
      const raster = await bench.decode((await image.encode('png')).body);
      expect([raster.width, raster.height]).to.deep.equal([48, 32]);
    });
  });

  describe('quality', () => {
    for (const format of ['jpg', 'webp'] as const) {
      it(`makes a ${format} smaller or larger`, async () => {
        const whole = await bench.engine.open(await example(), limits);
        const image = whole.crop({ left: 180, top: 120, width: 120, height: 80 });
        const size = async (quality?: number) => (await image.encode(format, { quality })).body.byteLength;
        expect(await size(20)).to.be.lessThan(await size());
        expect(await size(95)).to.be.greaterThan(await size());
      });
    }
  });
}
