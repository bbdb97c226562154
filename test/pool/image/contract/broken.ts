import { expect } from 'chai';
import { ImageError } from '../../../../pool/image/engine.js';
import { animation, limits, paint, sources, toSharp } from '../pictures.js';
import type { EngineBench } from './bench.js';

/** What every engine does with bytes that are no picture, are broken, or promise too much. */
export function brokenPictureTests(bench: EngineBench): void {
  async function fault(bytes: Uint8Array, bounds = limits): Promise<ImageError> {
    try {
      const image = await bench.engine.open(bytes, bounds);
      await image.border({ width: 1, color: '#000000' }).encode('jpg');
    } catch (error) {
      expect(error).to.be.instanceOf(ImageError);
      return error as ImageError;
    }
    throw new Error('expected a fault');
  }

  describe('broken pictures', () => {
    for (const [what, bytes] of Object.entries({
      nothing: '',
      text: 'just some text that goes on for a while',
      'a vector picture': '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
      'a lone signature': '\xff\xd8\xff\xe0',
    })) {
      it(`refuses ${what} as bad_image`, async () => {
        expect(await fault(Buffer.from(bytes, 'latin1'))).to.include({ code: 'bad_image' });
      });
    }

    for (const source of ['png', 'jpeg', 'webp'] as const) {
      it(`refuses a ${source} cut off in the middle as bad_image`, async () => {
        const whole = await sources[source]();
        const cut = whole.subarray(0, Math.floor(whole.length * 0.7));
        expect(await fault(cut)).to.include({ code: 'bad_image' });
      });
    }

    it('refuses a cut-off jpeg that is shrunk', async () => {
      const whole = await toSharp(paint(600, 400, (x, y) => [x & 255, y & 255, 9]))
        .jpeg()
        .toBuffer();
      const image = await bench.engine.open(whole.subarray(0, whole.length / 2), limits);
      const error = await image
        .resize({ width: 20 })
        .encode('jpg')
        .catch((caught) => caught);
      expect(error).to.be.instanceOf(ImageError).and.include({ code: 'bad_image' });
    });

    it('refuses a png whose header promises other pixels than it has', async () => {
      const png = await sources.png();
      png.writeUInt32BE(900, 16);
      expect(await fault(png)).to.include({ code: 'bad_image' });
    });
  });

  describe('limits', () => {
    it('names the pixels and the limit of a source that is too large', async () => {
      const { code, message } = await fault(await sources.png(), {
        maxPixels: 1535,
        maxFrames: 1,
      });
      expect(code).to.equal('image_too_large');
      expect(message).to.include('48 × 32 = 1536').and.include('1535');
    });

    it('counts the frames', async () => {
      const gif = await animation().gif().toBuffer();
      expect(await fault(gif, { maxPixels: 2879, maxFrames: 3 })).to.include({ code: 'image_too_large' });
      expect(await fault(gif, { maxPixels: 2880, maxFrames: 2 })).to.include({ code: 'image_too_large' });
    });

    it('holds for the result', async () => {
      const image = await bench.engine.open(await sources.png(), limits);
      const error = await image
        .border({ width: 5000, color: '#000000' })
        .encode('png')
        .catch((caught) => caught);
      expect(error).to.be.instanceOf(ImageError).and.include({ code: 'image_too_large' });
      expect(error.message).to.include('10048 × 10032').and.include('1000000');
    });

    it('holds for what the format can store', async () => {
      const source = await toSharp(paint(20_000, 1, () => [9, 9, 9]))
        .png()
        .toBuffer();
      const image = await bench.engine.open(source, limits);
      const error = await image.encode('webp').catch((caught) => caught);
      expect(error).to.be.instanceOf(ImageError).and.include({ code: 'image_too_large' });
      expect((await image.encode('png')).body.length).to.be.greaterThan(0);
    });
  });
}

/** A picture with one of so many bytes broken: it is given, whole or in parts, or refused. */
export function brokenByteTests(bench: EngineBench, count: number): void {
  describe('a broken byte', () => {
    for (const [source, make] of Object.entries(sources)) {
      it(`of a ${source} lets it be given or refused, and nothing else`, async () => {
        const whole = await make();
        for (let at = 7; at < whole.length; at += Math.ceil(whole.length / count)) {
          const broken = Buffer.from(whole);
          broken[at] = (broken[at] as number) ^ 0x5a;
          try {
            const image = await bench.engine.open(broken, limits);
            await image.border({ width: 1, color: '#000000' }).encode('webp');
          } catch (error) {
            expect(error, `byte ${at}: ${(error as Error).stack}`).to.be.instanceOf(ImageError);
          }
        }
      });
    }

    for (const source of ['png', 'jpeg', 'webp', 'gif'] as const) {
      it(`of a ${source} lets parts of it be given, turned and resized, or refused`, async () => {
        const whole = await sources[source]();
        for (let at = 7; at < whole.length; at += Math.ceil(whole.length / count)) {
          const broken = Buffer.from(whole);
          broken[at] = (broken[at] as number) ^ 0x5a;
          try {
            const image = await bench.engine.open(broken, limits);
            const { width, height } = image;
            const part = image.crop({ left: 1, top: 1, width: width - 1, height: height - 1 });
            await image.resize({ width: 7 }).rotate(5).composite(part.rotate(90)).encode('png');
          } catch (error) {
            expect(error, `byte ${at}: ${(error as Error).stack}`).to.satisfy(isExpected);
          }
        }
      });
    }
  });
}

/** Of a picture that became one pixel wide, nothing can be cut. */
function isExpected(error: unknown): boolean {
  return error instanceof ImageError || (error as { code?: unknown }).code === 'invalid_input';
}
