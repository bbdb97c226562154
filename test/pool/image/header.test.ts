import { expect } from 'chai';
import fc from 'fast-check';
import { ImageError } from '../../../pool/image/engine.js';
import { checkHeader, probeImage } from '../../../pool/image/header.js';
import type { Raster } from '../../../pool/image/raster.js';
import { animation, limits, paint, plain, sources, toSharp } from './pictures.js';

const grey = () => toSharp(plain(8, 8, [9, 9, 9])).jpeg();
const still = { frames: 1, orientation: 1, cmyk: false, alpha: false };

describe('probeImage', () => {
  it('reads what each kind of source says of itself', async () => {
    for (const [source, make] of Object.entries(sources)) {
      const format = source.match(/jpeg|png|webp|gif|avif/)?.[0].replace('jpeg', 'jpg');
      const coded = format === 'avif' ? { codedPixels: 48 * 32 } : {};
      // Every GIF by libvips has a colour that is transparent.
      const expected = { ...still, format, width: 48, height: 32, alpha: format === 'gif', ...coded };
      expect(probeImage(await make()), source).to.deep.equal(expected);
    }
    const dot = { ...still, format: 'jpg', width: 8, height: 8 };
    expect(
      probeImage(
        await grey()
          .withExif({ IFD0: { Copyright: 'x' } })
          .toBuffer(),
      ),
    ).to.deep.equal(dot);
    const cmyk = await grey().toColourspace('cmyk').toBuffer();
    expect(probeImage(cmyk)).to.deep.equal({ ...dot, cmyk: true });
    for (const format of ['gif', 'webp'] as const) {
      const bytes = await animation().toFormat(format).toBuffer();
      const expected = { ...still, format, width: 40, height: 24, frames: 3, alpha: format === 'gif' };
      expect(probeImage(bytes)).to.deep.equal(expected);
    }
  });

  it('knows which pictures may be transparent', async () => {
    const [clear, solid] = [plain(9, 9, [9, 9, 9, 99]), plain(9, 9, [9, 9, 9])];
    for (const format of ['png', 'webp', 'avif'] as const) {
      for (const raster of [clear, solid]) {
        const alpha = probeImage(await toSharp(raster).toFormat(format).toBuffer())?.alpha;
        expect(alpha, format).to.equal(raster === clear);
      }
    }
    const lossless = (raster: Raster) => toSharp(raster).webp({ lossless: true }).toBuffer();
    expect(probeImage(await lossless(clear))?.alpha).to.equal(true);
    expect(probeImage(await toSharp(clear).png({ palette: true }).toBuffer())?.alpha).to.equal(true);
    const gif = await sources.gif();
    gif.writeUInt8(gif.readUInt8(gif.indexOf('21f904', 'hex') + 3) & 0xfe, gif.indexOf('21f904', 'hex') + 3);
    expect(probeImage(gif)?.alpha).to.equal(false);
  });

  it('reads sizes of 1 to 16,383', async () => {
    for (const width of [1, 2, 16_383]) {
      for (const format of ['png', 'jpeg', 'webp'] as const) {
        const line = toSharp(plain(width, 1, [1, 2, 3])).toFormat(format, { lossless: true });
        expect(probeImage(await line.toBuffer()), format).to.include({ width, height: 1 });
      }
    }
  });

  it('reads bytes that lie within a larger buffer', async () => {
    const png = await sources.png();
    const padded = Buffer.concat([Buffer.alloc(13), png, Buffer.alloc(7)]);
    expect(probeImage(padded.subarray(13, 13 + png.length))).to.include({ width: 48 });
  });

  it('does not know a jpeg with two frame headers', async () => {
    const jpeg = await sources.jpeg();
    const at = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    const frame = jpeg.subarray(at, at + 2 + jpeg.readUInt16BE(at + 2));
    expect(probeImage(Buffer.concat([jpeg.subarray(0, at), frame, jpeg.subarray(at)]))).to.equal(undefined);
  });

  it('does not know a webp whose picture is larger than its canvas', async () => {
    const picture = toSharp(paint(40, 40, (x) => [x, 0, 0, x]));
    const webp = await picture.webp().toBuffer();
    expect(probeImage(webp)).to.include({ width: 40 });
    webp.writeUIntLE(9, 24, 3);
    expect(probeImage(webp)).to.equal(undefined);
  });

  it('never throws, whatever the bytes', () => {
    const avif = '\0\0\0\x10ftypavif\0\0\0\0\0\0\0\x20meta\0\0\0\0';
    const starts = [
      avif,
      '\xff\xd8\xff',
      '\x89PNG\r\n\x1a\n\0\0\0\rIHDR',
      'RIFF\0\0\0\0WEBPVP8X',
      'GIF89a',
      '',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 400 }), (start, rest) => {
        probeImage(Buffer.concat([Buffer.from(start, 'latin1'), rest]));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('checkHeader', () => {
  const large = { maxPixels: 40e6, maxFrames: 250 };

  it('throws nothing but an ImageError where bytes are broken or missing', async () => {
    const whole = await Promise.all([
      ...Object.values(sources).map((make) => make()),
      grey().withMetadata({ orientation: 5 }).toBuffer(),
      animation().gif().toBuffer(),
      animation().webp().toBuffer(),
    ]);
    const changes = fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 5 });
    fc.assert(
      fc.property(fc.constantFrom(...whole), changes, fc.nat(700), (file, changes, end) => {
        const bytes = Buffer.from(file.subarray(0, end < 600 ? end : undefined));
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        try {
          checkHeader(bytes, limits);
        } catch (error) {
          expect(error).to.be.instanceOf(ImageError);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('refuses 40,000 frames of one pixel before it has counted them all', () => {
    const screen = Buffer.from('GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
    const frame = Buffer.from('\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0', 'latin1');
    const bytes = Buffer.concat([screen, ...Array<Buffer>(40_000).fill(frame)]);
    expect(probeImage(bytes)?.frames).to.equal(40_000);
    expect(probeImage(bytes, 250)?.frames).to.equal(251);
    expect(() => checkHeader(bytes, large)).to.throw(ImageError, '250 frames');
  });

  it('counts a gif by a first frame that reaches beyond its screen', () => {
    const screen = Buffer.from('GIF89a\x01\0\x01\0\0\0\0', 'latin1');
    const frame = Buffer.from('\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\0', 'latin1');
    expect(() => checkHeader(Buffer.concat([screen, frame]), limits)).to.throw(ImageError, '65535 × 65535');
  });

  it('counts a gif by its first frame where its screen is one that old programs always wrote', async () => {
    const gif = await sources.gif();
    gif.writeUInt16LE(800, 6);
    gif.writeUInt16LE(600, 8);
    expect(checkHeader(gif, limits)).to.include({ width: 48, height: 32 });
  });

  it('refuses a small file that promises a gigabyte, and one without an extent', async () => {
    for (const [side, code, message] of [
      [16_383, 'image_too_large', '268402689 pixels'],
      [0, 'bad_image', 'header'],
    ] as const) {
      const png = await sources.png();
      for (const at of [16, 20]) png.writeUInt32BE(side, at);
      expect(() => checkHeader(png, large))
        .to.throw(ImageError, message)
        .with.property('code', code);
    }
  });
});
