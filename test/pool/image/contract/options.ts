import { expect } from 'chai';
import { type Image, ImageError } from '../../../../pool/image/engine.js';
import type { EngineBench } from '../engines.js';
import {
  animation,
  paint,
  plain,
  quadrants,
  rejectionOf,
  sources,
  toSharp,
  undecodable,
} from '../pictures.js';

type Call = (image: Image) => unknown;

const whole = 'must be a whole number from';
const side = `${whole} 1 to 16383, but is`;
const inside = '(the picture is 48 × 32';
const foreign = 'takes a picture as the context of a call has it, and what is made of one';
const mark = (options: object) => (image: Image) => image.watermark({ text: 'a', ...options });
const logo = (options: object) => (image: Image) => image.watermark({ mark: image, ...options });
const crop = (options: object) => (i: Image) => i.crop({ left: 0, top: 0, width: 1, height: 1, ...options });
const border = (options: object) => (i: Image) => i.border({ width: 1, color: '#000000', ...options });

/** What a plugin's author got wrong: a TypeError with this message. */
const mistakes: [message: string, call: Call][] = [
  ['resize: needs width, height or both', (i) => i.resize({})],
  [`resize: width ${side} 0.5`, (i) => i.resize({ width: 0.5 })],
  [`resize: height ${side} NaN`, (i) => i.resize({ height: NaN })],
  [`resize: width ${side} "9"`, (i) => i.resize({ width: '9' as never })],
  [`resize: width ${side} null`, (i) => i.resize({ width: null as never })],
  ['resize: fit must be cover, inside or fill, but is "a"', (i) => i.resize({ width: 9, fit: 'a' as never })],
  [
    'resize: has no option "w"; there is width, height, fit or focus',
    (i) => i.resize({ width: 9, w: 9 } as never),
  ],
  ['crop: takes an object of left, top, width or height, but got missing', (i) => i.crop(undefined as never)],
  [`crop: height ${whole} 1 to 32 ${inside} and top is 0), but is missing`, crop({ height: undefined })],
  [`crop: left ${whole} 0 to 47 ${inside}), but is Infinity`, crop({ left: Infinity })],
  ['rotate: degrees must be a finite number, but is missing', (i) => i.rotate(undefined as never)],
  ['rotate: degrees must be a finite number, but is -Infinity', (i) => i.rotate(-Infinity)],
  ['rotate: background must be #rrggbb, but is "red"', (i) => i.rotate(0, { background: 'red' })],
  [
    'resize: focus is for cover, not for fill',
    (i) => i.resize({ width: 9, height: 9, fit: 'fill', focus: 'auto' }),
  ],
  [
    'resize: focus must be a side, a corner, "30%,20%" or auto, but is "101%,5%"',
    (i) => i.resize({ width: 9, focus: '101%,5%' }),
  ],
  [`composite: ${foreign}`, (i) => i.composite(new Uint8Array(9) as never)],
  [`composite: ${foreign}`, (i) => i.composite(null as never)],
  ['composite: left must be a whole number, but is 1.5', (i) => i.composite(i, { left: 1.5 })],
  ['encode: format must be png, jpg, webp, avif or same, but is "tiff"', (i) => i.encode('tiff' as never)],
  [`encode: quality ${whole} 1 to 100, but is 79.5`, (i) => i.encode('jpg', { quality: 79.5 })],
  ...['5', 'auto', 1.5, null, '-1%', '1e1%'].map((top): [string, Call] => [
    `border: top must be a whole number from 0 to 16383 (or per cent such as "5%"), but is ${JSON.stringify(top)}`,
    border({ top }),
  ]),
  ['border: color must be #rrggbb, but is "red"', border({ color: 'red' })],
  [
    'border: has no option "wdth"; there is width, top, right, bottom, left, radius, color or inset',
    border({ wdth: 3 }),
  ],
  [`watermark: ${foreign}`, mark({ text: undefined, mark: {} })],
  ['watermark: has no option "text"; there is mark, scale', logo({ text: 'a' })],
  ['watermark: text must be a string, but is missing', mark({ text: undefined })],
  ['watermark: takes an object of', (i) => i.watermark(undefined as never)],
  [
    'watermark: position must be top-left, top-right, bottom-left, bottom-right or center, but is "middle"',
    mark({ position: 'middle' }),
  ],
  ['watermark: has no option "fontsize"', mark({ fontsize: 3 })],
  ['watermark: has no option "spacing"', mark({ spacing: 3 })],
  [`watermark: margin ${whole} 0 to 5000 (or per cent such as "5%"), but is "3em"`, mark({ margin: '3em' })],
  ['rotate: degrees must be a finite number, but is Infinity', mark({ rotate: Infinity })],
  ['watermark: color must be #rrggbb or auto, but is "red"', mark({ color: 'red' })],
];

/** What may well be a caller's own number: the fields that are blamed, and why. */
const refusals: [details: Record<string, string>, call: Call][] = [
  [{ width: `${side} 0`, height: `${side} 20000` }, (i) => i.resize({ width: 0, height: 20_000 })],
  [
    { left: `${whole} 0 to 47 ${inside}), but is 48`, top: `${whole} 0 to 31 ${inside}), but is -1` },
    crop({ left: 48, top: -1 }),
  ],
  [
    {
      width: `${whole} 1 to 38 ${inside} and left is 10), but is 39`,
      height: `${whole} 1 to 30 ${inside} and top is 2), but is 0`,
    },
    crop({ left: 10, top: 2, width: 39, height: 0 }),
  ],
  [{ quality: 'must be a whole number from 1 to 100, but is 0' }, (i) => i.encode('webp', { quality: 0 })],
  [{ quality: 'is for jpg, webp and avif; a png has none' }, (i) => i.encode('png', { quality: 80 })],
  [{ top: 'must be at most 100%, but is 101%' }, border({ top: '101%' })],
  [{ left: `${whole} 0 to 16383 (or per cent`, radius: '' }, border({ left: 16_384, radius: -1 })],
  [{ opacity: 'must be a number from 0 to 1, but is 1.1' }, mark({ opacity: 1.1 })],
  [{ scale: 'must be a number from 0.001 to 1, but is 0' }, logo({ scale: 0 })],
  [{ margin: 'must be a whole number from 0 to 5000' }, mark({ margin: -1 })],
  [{ spacing: 'must be a whole number from 0 to 5000' }, mark({ tile: { spacing: 5001 } })],
  [{ fontSize: 'must be a number from 1 to 5000, but is 0' }, mark({ fontSize: 0 })],
  [{ outline: 'must be a whole number from 0 to 5000, but is -1' }, mark({ outline: -1 })],
  [{ maxLines: 'must be a whole number from 1 to 5000, but is 0' }, mark({ wrap: { maxLines: 0 } })],
];

const thrownBy = (image: Image, call: Call) => rejectionOf((async () => call(image))());

/** Options that cannot be; what would pass the limits, found before a pixel is decoded; and what is no picture. */
export function faultTests(bench: EngineBench): void {
  it("refuses what is a plugin author's mistake as a TypeError", async () => {
    const image = await bench.open(quadrants());
    for (const [message, call] of mistakes) {
      const error = await thrownBy(image, call);
      expect(error, message).to.be.instanceOf(TypeError).and.not.have.property('code');
      expect(error.message.slice(0, message.length)).to.equal(message);
    }
  });

  it("refuses what may be the caller's own number as invalid_input on its field", async () => {
    const image = await bench.open(quadrants());
    for (const [wanted, call] of refusals) {
      const { code, details } = await thrownBy(image, call);
      expect(code).to.equal('invalid_input');
      const fields = details.map(({ field }: { field: string }) => field);
      expect(fields).to.have.members(Object.keys(wanted));
      for (const { field, problem } of details) expect(problem, field).to.contain(wanted[field]);
    }
  });

  async function expectTooLarge(image: Promise<Image>, message: string, format: 'png' | 'webp' = 'png') {
    const error = await rejectionOf(image.then((opened) => opened.encode(format)));
    expect(error).to.be.instanceOf(ImageError).and.include({ code: 'image_too_large' });
    expect(error.message).to.match(new RegExp(message));
  }

  describe('limits', () => {
    const dot = { left: 0, top: 0, width: 1, height: 1 };
    const recipes: Record<string, (image: Image) => Image> = {
      'a resize before a crop': (i) => i.resize({ width: 16_383, height: 16_383 }).crop(dot),
      'a resize of an overlay': (i) => i.composite(i.resize({ width: 16_383 }).crop(dot)),
      'an overlay of an overlay': (i) => i.composite(i.composite(i.resize({ width: 16_383 }).crop(dot))),
      'a resize of a mark': (i) => i.watermark({ mark: i.resize({ width: 16_383 }).crop(dot) }),
      'a turn': (i) => i.resize({ width: 1100, height: 900, fit: 'fill' }).rotate(45).crop(dot),
    };
    for (const [what, recipe] of Object.entries(recipes)) {
      it(`hold for ${what}`, async () => {
        const size = 'would be \\d+ × \\d+ = \\d+ pixels; the limit is 1000000\\.$';
        const image = bench.open(await undecodable()).then(recipe);
        await expectTooLarge(image, `^A picture on the way to the result ${size}`);
      });
    }

    it('count the frames of an animation that stays one', async () => {
      const image = await bench.open(await animation().gif().toBuffer());
      const large = image.resize({ width: 1000, height: 600 }).resize({ width: 10 });
      const error = await rejectionOf(large.encode('webp'));
      expect(error?.code).to.equal(image.frames === 1 ? undefined : 'image_too_large');
      expect((await large.encode('png')).type).to.equal('image/png');
    });

    it('hold for the source, its frames counted, and name its pixels and the limit', async () => {
      const gif = await animation().gif().toBuffer();
      const still = bench.open(quadrants(), { maxPixels: 1535, maxFrames: 1 });
      await expectTooLarge(still, '48 × 32 = 1536 pixels; the limit is 1535');
      await expectTooLarge(bench.open(gif, { maxPixels: 2879, maxFrames: 3 }), '40 × 24 × 3 frames = 2880');
      await expectTooLarge(bench.open(gif, { maxPixels: 2880, maxFrames: 2 }), 'more than 2 frames');
    });

    it('hold for the result, and what its format can store', async () => {
      const framed = bench.open(await undecodable()).then((i) => i.border({ width: 5000, color: '#000000' }));
      await expectTooLarge(framed, '10048 × 10032 = 100801536 pixels; the limit is 1000000');
      const line = bench.open(plain(20_000, 1, [9, 9, 9]));
      await expectTooLarge(line, 'a webp holds at most 16383 on a side', 'webp');
      expect((await (await line).encode('png')).body.length).to.be.greaterThan(0);
    });
  });

  async function expectBad(bytes: Uint8Array, recipe?: (image: Image) => Image): Promise<void> {
    const error = await rejectionOf(bench.run(bytes, recipe, 'jpg'));
    expect(error).to.be.instanceOf(ImageError).and.include({ code: 'bad_image' });
  }

  describe('broken pictures', () => {
    it('are bad_image where they are none, or their header promises other pixels than there are', async () => {
      const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
      for (const bytes of ['', 'just some text that goes on for a while', svg, '\xff\xd8\xff\xe0']) {
        await expectBad(Buffer.from(bytes, 'latin1'));
      }
      const png = await sources.png();
      png.writeUInt32BE(900, 16);
      await expectBad(png);
    });

    it('are bad_image where they are cut off in the middle, also of a jpeg that is shrunk', async () => {
      for (const source of ['png', 'jpeg', 'webp'] as const) {
        const whole = await sources[source]();
        await expectBad(whole.subarray(0, Math.floor(whole.length * 0.7)));
      }
      const whole = await toSharp(paint(600, 400, (x, y) => [x & 255, y & 255, 9]))
        .jpeg()
        .toBuffer();
      await expectBad(whole.subarray(0, whole.length / 2), (image) => image.resize({ width: 20 }));
    });
  });
}

/** A picture with one of so many bytes broken: it is given, whole or in parts, or refused, and nothing else. */
export function brokenByteTests(bench: EngineBench, count: number): void {
  const uses: Record<string, (image: Image) => Promise<unknown>> = {
    given: (image) => image.border({ width: 1, color: '#000000' }).encode('webp'),
    'cut, turned and resized': async (image) => {
      const { width, height } = image;
      // Of a picture that became one pixel wide, nothing can be cut.
      if (width === 1 || height === 1) return;
      const part = image.crop({ left: 1, top: 1, width: width - 1, height: height - 1 });
      await image.resize({ width: 7 }).rotate(5).composite(part.rotate(90)).encode('png');
    },
  };

  describe('a broken byte', () => {
    for (const [source, make] of Object.entries(sources)) {
      for (const [how, use] of Object.entries(uses)) {
        it(`of a ${source} lets it be ${how} or refused`, async () => {
          const whole = await make();
          for (let at = 7; at < whole.length; at += Math.ceil(whole.length / count)) {
            const broken = Buffer.from(whole);
            broken[at] = (broken[at] as number) ^ 0x5a;
            const error = await rejectionOf(bench.open(broken).then(use));
            if (error) expect(error, `byte ${at}: ${error.stack}`).to.be.instanceOf(ImageError);
          }
        });
      }
    }
  });
}
