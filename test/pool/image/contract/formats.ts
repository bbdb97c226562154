import { expect } from 'chai';
import type { EncodeOptions, OutputFormat } from '../../../../pool/image/engine.js';
import { canEncode, keepsAnimation } from '../../../../pool/image/options.js';
import { type EngineBench, example, formats } from '../engines.js';
import {
  animation,
  colorAt,
  distance,
  expectQuadrants,
  frameColors,
  limits,
  paint,
  plain,
  purple,
  quadrants,
  rejectionOf,
  sizeOf,
  sources,
  storeTurned,
  toSharp,
  undecodable,
} from '../pictures.js';

const signatures = { png: '\x89PNG', jpg: '\xff\xd8\xff', webp: 'RIFF' };
const mediaTypes = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
};

/** Each format that goes in as each that comes out, and turned as each camera does; not `all`: each of them once. */
export function conversionTests(bench: EngineBench, all: boolean): void {
  describe('conversions', () => {
    for (const [index, [source, make]] of Object.entries(sources).entries()) {
      for (const format of all ? formats : [formats[index % formats.length] as (typeof formats)[number]]) {
        it(`accept a ${source} and give a ${format}`, async () => {
          const image = await bench.open(await make());
          expect([...sizeOf(image), image.frames]).to.deep.equal([48, 32, 1]);
          const { body, type } = await image.encode(format);
          expect(type).to.equal(mediaTypes[format]);
          expect(Buffer.from(body).toString('latin1').startsWith(signatures[format])).to.equal(true);
          const raster = await bench.decode(body);
          expect(sizeOf(raster)).to.deep.equal([48, 32]);
          expectQuadrants(raster, 14);
        });
      }
    }

    for (const format of ['jpeg', 'png', 'webp', 'avif'] as const) {
      for (let orientation = 1; orientation <= 8; orientation += all || format === 'jpeg' ? 1 : 5) {
        it(`turn a ${format} with EXIF ${orientation} upright`, async () => {
          const stored = toSharp(storeTurned(quadrants(), orientation)).withMetadata({ orientation });
          const raster = await bench.run(await stored.toFormat(format, { quality: 95 }).toBuffer());
          expect(sizeOf(raster)).to.deep.equal([48, 32]);
          expectQuadrants(raster, 20);
        });
      }
    }
  });
}

/** What comes out: bytes, colours, the first frame, `same`, and what an engine does not write. */
export function formatTests(bench: EngineBench): void {
  describe('formats', () => {
    for (const format of [...formats, 'avif', 'gif'] as const) {
      if (!canEncode(bench.name, format)) continue;
      it(`gives ${format} bytes that can be moved to another thread`, async () => {
        const image = await bench.open(await sources[format === 'gif' ? 'gif' : 'png']());
        const { body } = await image.encode(format === 'gif' ? 'same' : format);
        expect(body.byteLength).to.equal(body.buffer.byteLength);
        structuredClone(body, { transfer: [body.buffer as ArrayBuffer] });
        expect(body.byteLength).to.equal(0);
      });

      if (format === 'png' || format === 'gif') continue;
      it(`makes a ${format} smaller or larger by its quality`, async () => {
        const part = { left: 180, top: 120, width: 120, height: 80 };
        const image = (await bench.open(await example())).crop(part);
        for (const output of format === 'jpg' ? [format, 'same' as const] : [format]) {
          const size = async (quality?: number) => (await image.encode(output, { quality })).body.byteLength;
          expect(await size(20)).to.be.lessThan(await size());
          expect(await size(95)).to.be.greaterThan(await size());
        }
      });
    }

    it('keeps the pixels of a png to the last bit', async () => {
      const pixel = (x: number, y: number) => [x * 37 + y * 11, x * y, x ^ y, x + y * 3].map((v) => v & 255);
      const noise = paint(61, 47, pixel);
      expect(Buffer.from((await bench.run(noise)).data).equals(noise.data)).to.equal(true);
    });

    it('brings CMYK to sRGB', async () => {
      const cmyk = await toSharp(quadrants()).toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer();
      const [red = 0, green = 0, blue = 0] = colorAt(await bench.run(cmyk), 0.25, 0.25);
      expect(red - Math.max(green, blue)).to.be.greaterThan(80);
    });

    for (const format of ['jpeg', 'png'] as const) {
      it(`paints a coloured border on a grey ${format}`, async () => {
        const grey = toSharp(plain(32, 32, [90, 90, 90])).toColourspace('b-w');
        const source = await grey.toFormat(format).toBuffer();
        const raster = await bench.run(source, (image) => image.border({ width: 8, color: '#800080' }));
        expect(colorAt(raster, 0, 0).slice(0, 3)).to.deep.equal(purple);
        expect(distance(colorAt(raster, 0.5, 0.5), [90, 90, 90])).to.be.at.most(2);
      });
    }

    for (const format of ['gif', 'webp'] as const) {
      it(`gives the first frame of an animated ${format} where it writes no animation`, async () => {
        const moving = animation().toFormat(format, { lossless: true } as object);
        const source = await moving.toBuffer();
        expect((await bench.open(source)).frames).to.equal(keepsAnimation(bench.name, 'webp') ? 3 : 1);
        for (const output of formats) {
          if (keepsAnimation(bench.name, output)) continue;
          const raster = await bench.run(source, (i) => i.border({ width: 8, color: '#ffffff' }), output);
          expect(sizeOf(raster)).to.deep.equal([56, 40]);
          expect(distance(colorAt(raster, 0.5, 0.5), frameColors[0])).to.be.at.most(10);
        }
      });
    }
  });

  async function encoding(source: Uint8Array, format: OutputFormat, options?: EncodeOptions) {
    return (await bench.open(source)).border({ width: 4, color: '#800080' }).encode(format, options);
  }

  async function problemOf(...asked: Parameters<typeof encoding>): Promise<unknown> {
    const error = await rejectionOf(encoding(...asked));
    expect(error?.code).to.equal('invalid_input');
    expect(error.details).to.have.length(1);
    return error.details[0];
  }

  describe('the source', () => {
    for (const source of ['png', 'jpeg', 'webp', 'gif', 'avif'] as const) {
      const name = source === 'jpeg' ? 'jpg' : source;
      it(`of a ${source} is called ${name}, also after an operation, and is one again as same`, async () => {
        const image = await bench.open(await sources[source]());
        const cut = image.crop({ left: 0, top: 0, width: 5, height: 5 });
        for (const { format, type } of [image, cut]) {
          expect([format, type]).to.deep.equal([name, mediaTypes[name]]);
        }
        if (!canEncode(bench.name, name)) return;
        const { body, type } = await image.encode('same');
        expect(type).to.equal(mediaTypes[name]);
        expectQuadrants(await bench.decode(body), 14);
      });
    }

    it('is there as it came, the same bytes each time', async () => {
      const source = await sources.gif();
      const image = await bench.open(source);
      expect(source.equals(image.bytes)).to.equal(true);
      expect(image.rotate(90).bytes).to.equal(image.bytes);
      expect(image.bytes.byteLength).to.equal(image.bytes.buffer.byteLength);
    });

    it('says what its file is, also after an operation', async () => {
      const stored = storeTurned(quadrants(), 6);
      const source = await toSharp(stored).withMetadata({ orientation: 6 }).webp().toBuffer();
      const facts = { size: source.length, frames: 1, orientation: 6, hasAlpha: false };
      const image = await bench.open(source);
      for (const { file } of [image, image.rotate(30)]) expect(file).to.deep.equal(facts);
      const moving = await animation().gif().toBuffer();
      expect((await bench.open(moving)).file).to.include({ frames: 3, hasAlpha: true });
    });

    it('gives its pixels, upright, with what was done to it, and no more than a megapixel', async () => {
      for (const [source, make] of Object.entries(sources)) {
        const image = (await bench.open(await make())).resize({ width: 24 });
        const { data, width, height } = await image.border({ width: 2, color: '#800080' }).pixels();
        const raster = { data, width, height, channels: 4, frames: 1 } as const;
        expect([width, height, data.length], source).to.deep.equal([28, 20, 28 * 20 * 4]);
        expectQuadrants(raster, 20, source);
        expect(colorAt(raster, 0, 0)).to.deep.equal([...purple, 255]);
      }
      const opened = await bench.open(plain(20, 20, purple), { ...limits, maxPixels: 2e6 });
      const large = opened.resize({ width: 1001, height: 1000, fit: 'fill' });
      expect(await rejectionOf(large.pixels())).to.be.instanceOf(RangeError);
      const tooLarge = opened.resize({ width: 2000 }).crop({ left: 0, top: 0, width: 5, height: 5 });
      expect(await rejectionOf(tooLarge.pixels())).to.include({ code: 'image_too_large' });
    });

    it('may be written into and moved away without harm to the picture', async () => {
      const image = await bench.open(await sources.png());
      image.bytes.fill(7);
      structuredClone(image.bytes, { transfer: [image.bytes.buffer as ArrayBuffer] });
      expect(sizeOf(await bench.decode((await image.encode('png')).body))).to.deep.equal([48, 32]);
    });

    it('has no quality as same where its format has none, or one out of range', async () => {
      for (const [source, quality, problem] of [
        ['png', 80, 'is for jpg, webp and avif; the picture is a png, and has none'],
        ['jpeg', 101, 'must be a whole number from 1 to 100, but is 101'],
      ] as const) {
        const found = await problemOf(await sources[source](), 'same', { quality });
        expect(found).to.deep.equal({ field: 'quality', problem });
      }
    });
  });

  if (canEncode(bench.name, 'avif')) return;
  describe('a format that another engine writes', () => {
    const elsewhere = 'sharp does, where HELPER_IMAGE_ENGINE lets it and it is installed';

    it('is refused by name, the engine’s too', async () => {
      for (const [source, format, what, able] of [
        ['png', 'avif', 'avif', 'png, jpg, webp or same'],
        ['gif', 'same', 'gif', 'png, jpg or webp'],
        ['avif', 'same', 'avif', 'png, jpg, webp or same'],
      ] as const) {
        const problem = `must be ${able} here: the image engine ${bench.name} writes no ${what}; ${elsewhere}`;
        expect(await problemOf(await sources[source](), format)).to.deep.equal({ field: 'format', problem });
      }
    });

    it('is refused before a pixel is decoded', async () => {
      expect(await problemOf(await undecodable(), 'avif')).to.include({ field: 'format' });
    });

    it('is not what an animation quietly becomes', async () => {
      const moving = await animation().webp({ lossless: true }).toBuffer();
      const problem = `must be png, jpg or webp here, which give the first frame: this webp is animated, and the image engine ${bench.name} writes no animations; ${elsewhere}`;
      expect(await problemOf(moving, 'same')).to.deep.equal({ field: 'format', problem });
    });
  });
}
