import { expect } from 'chai';
import { type Image, ImageError } from '../../../../pool/image/engine.js';
import { animation, limits, paint, pngOf, rejectionOf, sources, toSharp } from '../pictures.js';
import type { EngineBench } from './bench.js';

/** What a plugin's author got wrong: type and whole message. */
const mistakes: [what: string, call: (image: Image) => unknown, message: string][] = [
  ['resize to nothing', (i) => i.resize({}), 'resize: needs width, height or both'],
  [
    'a fraction',
    (i) => i.resize({ width: 0.5 }),
    'resize: width must be a whole number from 1 to 16383, but is 0.5',
  ],
  [
    'NaN',
    (i) => i.resize({ height: NaN }),
    'resize: height must be a whole number from 1 to 16383, but is NaN',
  ],
  [
    'text',
    (i) => i.resize({ width: '9' as never }),
    'resize: width must be a whole number from 1 to 16383, but is "9"',
  ],
  [
    'null',
    (i) => i.resize({ width: null as never }),
    'resize: width must be a whole number from 1 to 16383, but is null',
  ],
  [
    'another fit',
    (i) => i.resize({ width: 9, fit: 'contain' as never }),
    'resize: fit must be cover, inside or fill, but is "contain"',
  ],
  [
    'a misspelt option',
    (i) => i.resize({ width: 9, heigth: 9 } as never),
    'resize: has no option "heigth"; there is width, height or fit',
  ],
  [
    'no options',
    (i) => i.crop(undefined as never),
    'crop: takes an object of left, top, width or height, but got missing',
  ],
  [
    'a side too few',
    (i) => i.crop({ left: 0, top: 0, width: 3 } as never),
    'crop: height must be a whole number from 1 to 32 (the picture is 48 × 32 and top is 0), but is missing',
  ],
  [
    'infinity',
    (i) => i.crop({ left: Infinity, top: 0, width: 1, height: 1 }),
    'crop: left must be a whole number from 0 to 47 (the picture is 48 × 32), but is Infinity',
  ],
  [
    'no angle',
    (i) => i.rotate(undefined as never),
    'rotate: degrees must be a finite number, but is missing',
  ],
  [
    'an endless angle',
    (i) => i.rotate(-Infinity),
    'rotate: degrees must be a finite number, but is -Infinity',
  ],
  [
    'bytes as an overlay',
    (i) => i.composite(new Uint8Array(9) as never),
    'composite: takes a picture as the context of a call has it, and what is made of one',
  ],
  [
    'no overlay',
    (i) => i.composite(null as never),
    'composite: takes a picture as the context of a call has it, and what is made of one',
  ],
  [
    'half an offset',
    (i) => i.composite(i, { left: 1.5 }),
    'composite: left must be a whole number, but is 1.5',
  ],
  [
    'another format',
    (i) => i.encode('tiff' as never),
    'encode: format must be png, jpg, webp, avif or same, but is "tiff"',
  ],
  [
    'half a quality',
    (i) => i.encode('jpg', { quality: 79.5 }),
    'encode: quality must be a whole number from 1 to 100, but is 79.5',
  ],
];

/** What may well be a caller's own number: the fields that are blamed. */
const refusals: [what: string, call: (image: Image) => unknown, details: object[]][] = [
  [
    'a size of 0',
    (i) => i.resize({ width: 0, height: 20_000 }),
    [
      { field: 'width', problem: 'must be a whole number from 1 to 16383, but is 0' },
      { field: 'height', problem: 'must be a whole number from 1 to 16383, but is 20000' },
    ],
  ],
  [
    'a crop outside',
    (i) => i.crop({ left: 48, top: -1, width: 1, height: 1 }),
    [
      { field: 'left', problem: 'must be a whole number from 0 to 47 (the picture is 48 × 32), but is 48' },
      { field: 'top', problem: 'must be a whole number from 0 to 31 (the picture is 48 × 32), but is -1' },
    ],
  ],
  [
    'a crop that leaves the picture',
    (i) => i.crop({ left: 10, top: 2, width: 39, height: 0 }),
    [
      {
        field: 'width',
        problem: 'must be a whole number from 1 to 38 (the picture is 48 × 32 and left is 10), but is 39',
      },
      {
        field: 'height',
        problem: 'must be a whole number from 1 to 30 (the picture is 48 × 32 and top is 2), but is 0',
      },
    ],
  ],
  [
    'a quality of 0',
    (i) => i.encode('webp', { quality: 0 }),
    [{ field: 'quality', problem: 'must be a whole number from 1 to 100, but is 0' }],
  ],
  [
    'the quality of a png',
    (i) => i.encode('png', { quality: 80 }),
    [{ field: 'quality', problem: 'is for jpg, webp and avif; a png has none' }],
  ],
];

/** Options that cannot be, and pictures that would pass the limits on the way. */
export function optionTests(bench: EngineBench): void {
  async function thrown(
    call: (image: Image) => unknown,
    source?: Uint8Array,
  ): Promise<Record<string, unknown> & Error> {
    const image = await bench.engine.open(source ?? (await sources.png()), limits);
    const result: unknown = await rejectionOf((async () => call(image))());
    expect(result).to.be.instanceOf(Error);
    return result as Record<string, unknown> & Error;
  }

  describe('options', () => {
    for (const [what, call, message] of mistakes) {
      it(`are the author's fault where they have ${what}`, async () => {
        const error = await thrown(call);
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.equal(message);
        expect(error).to.not.have.property('code');
      });
    }

    for (const [what, call, details] of refusals) {
      it(`are invalid_input where they ask for ${what}`, async () => {
        const error = await thrown(call);
        expect(error.code).to.equal('invalid_input');
        expect(error.details).to.deep.equal(details);
      });
    }
  });

  describe('limits on the way', () => {
    const whole = { left: 0, top: 0, width: 1, height: 1 };
    const recipes: Record<string, (image: Image) => Image> = {
      'a resize before a crop': (i) => i.resize({ width: 16_383, height: 16_383 }).crop(whole),
      'a resize of an overlay': (i) => i.composite(i.resize({ width: 16_383 }).crop(whole)),
      'an overlay of an overlay': (i) => i.composite(i.composite(i.resize({ width: 16_383 }).crop(whole))),
      'a turn': (i) => i.resize({ width: 1100, height: 900, fit: 'fill' }).rotate(45).crop(whole),
    };
    for (const [what, recipe] of Object.entries(recipes)) {
      it(`hold for ${what}, before a pixel is decoded`, async () => {
        // Pixels that cannot be decoded would be bad_image.
        const broken = await sources.png();
        broken.fill(0xff, broken.indexOf('IDAT') + 4, broken.length - 12);
        const error = await thrown((image) => recipe(image).encode('png'), broken);
        expect(error).to.be.instanceOf(ImageError).and.include({ code: 'image_too_large' });
        expect(error.message).to.match(
          /^A picture on the way to the result would be \d+ × \d+ = \d+ pixels; the limit is 1000000\.$/,
        );
      });
    }

    it('count the frames of an animation that stays one', async () => {
      const image = await bench.engine.open(await animation().gif().toBuffer(), limits);
      const large = image.resize({ width: 1000, height: 600 }).resize({ width: 10 });
      const error = await rejectionOf(large.encode('webp'));
      expect(error?.code).to.equal(image.frames === 1 ? undefined : 'image_too_large');
      expect((await large.encode('png')).type).to.equal('image/png');
    });
  });
}

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
      const error = await rejectionOf(image.resize({ width: 20 }).encode('jpg'));
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
      const error = await rejectionOf(image.border({ width: 5000, color: '#000000' }).encode('png'));
      expect(error).to.be.instanceOf(ImageError).and.include({ code: 'image_too_large' });
      expect(error.message).to.include('10048 × 10032').and.include('1000000');
    });

    it('holds for what the format can store', async () => {
      const source = await pngOf(paint(20_000, 1, () => [9, 9, 9]));
      const image = await bench.engine.open(source, limits);
      const error = await rejectionOf(image.encode('webp'));
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
