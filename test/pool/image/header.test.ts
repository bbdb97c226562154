import { expect } from 'chai';
import fc from 'fast-check';
import { ImageError } from '../../../pool/image/engine.js';
import { checkHeader, probeImage } from '../../../pool/image/header.js';
import { animation, limits, paint, sources, toSharp } from './pictures.js';

const formatOf = (source: string) =>
  source.includes('jpeg') ? 'jpg' : ['png', 'webp', 'gif'].find((name) => source.includes(name));

describe('probeImage', () => {
  for (const [source, make] of Object.entries(sources)) {
    it(`reads the size of a ${source}`, async () => {
      const expected = {
        format: formatOf(source),
        width: 48,
        height: 32,
        frames: 1,
        orientation: 1,
        cmyk: false,
      };
      expect(probeImage(await make())).to.deep.equal(expected);
    });
  }

  for (const size of [1, 2, 16_383]) {
    for (const format of ['png', 'jpg', 'webp'] as const) {
      it(`reads a ${format} of ${size} × 1`, async () => {
        const bytes = await toSharp(paint(size, 1, () => [1, 2, 3]))
          .toFormat(format === 'jpg' ? 'jpeg' : format, { lossless: true })
          .toBuffer();
        expect(probeImage(bytes)).to.include({ format, width: size, height: 1 });
      });
    }
  }

  for (const format of ['gif', 'webp'] as const) {
    it(`counts the frames of a ${format}`, async () => {
      const bytes = await animation().toFormat(format).toBuffer();
      expect(probeImage(bytes)).to.include({ format, width: 40, height: 24, frames: 3 });
    });
  }

  it('reads bytes that lie within a larger buffer', async () => {
    const png = await sources.png();
    const padded = Buffer.concat([Buffer.alloc(13), png, Buffer.alloc(7)]);
    expect(probeImage(padded.subarray(13, 13 + png.length))).to.include({ width: 48 });
  });

  it('tells a picture of four inks', async () => {
    const cmyk = await toSharp(paint(8, 8, () => [9, 9, 9]))
      .toColourspace('cmyk')
      .jpeg()
      .toBuffer();
    expect(probeImage(cmyk)).to.include({ cmyk: true });
  });

  it('does not know a jpeg with two frame headers', async () => {
    const jpeg = await sources.jpeg();
    const at = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    const frame = jpeg.subarray(at, at + 2 + jpeg.readUInt16BE(at + 2));
    expect(probeImage(Buffer.concat([jpeg.subarray(0, at), frame, jpeg.subarray(at)]))).to.equal(undefined);
  });

  it('does not know a webp whose picture is larger than its canvas', async () => {
    const webp = await toSharp(paint(40, 40, (x) => [x, 0, 0, x]))
      .webp()
      .toBuffer();
    expect(probeImage(webp)).to.include({ width: 40 });
    webp.writeUIntLE(9, 24, 3);
    expect(probeImage(webp)).to.equal(undefined);
  });

  it('never throws, whatever the bytes', () => {
    const starts = ['\xff\xd8\xff', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'RIFF\0\0\0\0WEBPVP8X', 'GIF89a', ''];
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 400 }), (start, rest) => {
        probeImage(Buffer.concat([Buffer.from(start, 'latin1'), rest]));
      }),
      { numRuns: 3000 },
    );
  });

  it('never throws on a header with broken or missing bytes', async () => {
    const whole = await Promise.all(Object.values(sources).map((make) => make()));
    whole.push(
      await toSharp(paint(8, 8, () => [9, 9, 9]))
        .withMetadata({ orientation: 5 })
        .jpeg()
        .toBuffer(),
    );
    whole.push(await animation().gif().toBuffer(), await animation().webp().toBuffer());
    const change = fc.tuple(fc.nat(600), fc.nat(255));
    fc.assert(
      fc.property(
        fc.constantFrom(...whole),
        fc.array(change, { maxLength: 5 }),
        fc.nat(700),
        (file, changes, end) => {
          const bytes = Buffer.from(file.subarray(0, end < 600 ? end : undefined));
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
          try {
            checkHeader(bytes, limits);
          } catch (error) {
            expect(error).to.be.instanceOf(ImageError);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe('checkHeader', () => {
  it('refuses 40,000 frames of one pixel before it has counted them all', () => {
    const screen = Buffer.from('GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
    const frame = Buffer.from('\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0', 'latin1');
    const bytes = Buffer.concat([screen, ...Array<Buffer>(40_000).fill(frame)]);
    expect(probeImage(bytes)?.frames).to.equal(40_000);
    expect(probeImage(bytes, 250)?.frames).to.equal(251);
    expect(() => checkHeader(bytes, { maxPixels: 40e6, maxFrames: 250 })).to.throw(ImageError, '250 frames');
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

  it('refuses a small file that promises a gigabyte', async () => {
    const png = await sources.png();
    png.writeUInt32BE(16_383, 16);
    png.writeUInt32BE(16_383, 20);
    expect(() => checkHeader(png, { maxPixels: 40e6, maxFrames: 250 })).to.throw(
      ImageError,
      '268402689 pixels',
    );
  });

  it('refuses a picture without an extent', async () => {
    const png = await sources.png();
    png.writeUInt32BE(0, 16);
    expect(() => checkHeader(png, limits))
      .to.throw(ImageError)
      .with.property('code', 'bad_image');
  });
});
