import { expect } from 'chai';
import { type Image, ImageError } from '../../../../pool/image/engine.js';
import { animation, limits, sources } from '../pictures.js';
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
    const result: unknown = await (async () => call(image))().catch((error) => error);
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
      const error = await large.encode('webp').then(
        () => undefined,
        (caught) => caught,
      );
      expect(error?.code).to.equal(image.frames === 1 ? undefined : 'image_too_large');
      expect((await large.encode('png')).type).to.equal('image/png');
    });
  });
}
