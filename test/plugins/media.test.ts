import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { call } from '../../gateway/testing.js';
import addBorder from '../../plugins/media/add-border/index.js';
import addWatermark from '../../plugins/media/add-watermark/index.js';
import convert from '../../plugins/media/convert/index.js';
import { findDominantColor } from '../../plugins/media/info/index.js';
import { resize, type SizeWanted } from '../../plugins/media/resize/index.js';
import type { Image } from '../../pool/image/engine.js';
import { type Operation, recordImage } from '../../pool/image/recorded-image.js';
import { inWords } from '../schemas/checker.js';
import { callContext } from './call-context.js';

const url = 'https://example.com/a.png';
const encoded = { body: new Uint8Array([1]), type: 'image/test' };

/** What a handler does with a picture, which is encoded at last. */
async function drawn<Input, Context>(
  { handler }: { handler: (input: Input, context: Context) => unknown },
  input: Input,
  files: Record<string, unknown> = {},
): Promise<unknown[]> {
  const calls: unknown[] = [];
  const image = {
    border: (border: unknown) => calls.push({ border }) && image,
    watermark: (watermark: unknown) => calls.push({ watermark }) && image,
    encode: async (format: string) => calls.push({ encode: format }) && encoded,
  };
  expect(await handler(input, { ...callContext('media/test'), image, files } as Context)).to.equal(encoded);
  return calls;
}

describe('media/add-border and media/convert', () => {
  const border = { width: 20, color: '#800080', radius: 0, inset: false } as const;
  const input = { ...border, format: 'png' } as const;
  const more = { top: '5%', radius: 8, inset: true, format: 'jpg', quality: 70 } as const;

  for (const [what, report, expected] of [
    [
      'all of a border',
      addBorder.dryrun?.({ ...input, ...more }, callContext('media/add-border')),
      { source_url: null, border_width: 20, color: '#800080', ...more },
    ],
    [
      'a format, and the url of the picture',
      convert.dryrun?.({ url, format: 'avif', quality: 50 }, callContext('media/convert')),
      { operation: 'convert', source_url: url, format: 'avif', quality: 50 },
    ],
    [
      'a format without its quality',
      convert.dryrun?.({ format: 'same' }, callContext('media/convert')),
      { operation: 'convert', source_url: null, format: 'same' },
    ],
  ] as const) {
    it(`report in a dry run what they would do: ${what}`, () => expect(report).to.deep.equal(expected));
  }

  it('draw the border, or nothing, and encode', async () => {
    const sides = { top: '5%', right: undefined, bottom: undefined, left: undefined };
    const framed = { ...border, ...sides, radius: 8, inset: true };
    expect(await drawn(addBorder, { ...input, ...more })).to.deep.equal([
      { border: framed },
      { encode: 'jpg' },
    ]);
    expect(await drawn(convert, { format: 'webp' })).to.deep.equal([{ encode: 'webp' }]);
  });
});

describe('media/info', () => {
  it('names the colour that most opaque pixels share, as their mean', () => {
    const pixels = (...colors: number[][]) => ({ data: Uint8Array.from(colors.flat()), width: 1, height: 1 });
    const [red, reddish, blue] = [
      [201, 30, 40, 255],
      [199, 30, 40, 200],
      [0, 0, 255, 255],
    ];
    expect(findDominantColor(pixels(blue, red, reddish))).to.equal('#c81e28');
    expect(findDominantColor(pixels([9, 9, 9, 0], [9, 9, 9, 0], [0, 0, 255, 255]))).to.equal('#0000ff');
    expect(findDominantColor(pixels([9, 9, 9, 127]))).to.equal(undefined);
  });
});

/** A picture of this size, of which only the sizes and the steps matter. */
function picture(width: number, height: number) {
  const steps: Operation['kind'][] = [];
  const image = recordImage({
    engine: 'sharp',
    format: 'png',
    bytes: new Uint8Array(0),
    size: { width, height, frames: 1 },
    frames: 1,
    orientation: 1,
    alpha: false,
    limits: { maxPixels: 1e9, maxFrames: 1 },
    async render(run) {
      steps.push(...run.flat().map(({ kind }) => kind));
      return new Uint8Array(0);
    },
    pixels: () => Promise.reject(new Error('no pixels are read')),
  });
  return { image, steps };
}

const wanted: SizeWanted = { fit: 'inside', enlarge: false, background: '#ffffff' };
const sizeOf = ({ width, height }: Image) => [width, height];
const resized = (width: number, height: number, size: Partial<SizeWanted>) =>
  sizeOf(resize(picture(width, height).image, { ...wanted, ...size }));

describe('media/resize', () => {
  const square = { width: 100, height: 100 };
  const box = { width: 800, height: 200 };
  for (const [what, size, from, to] of [
    ['has the height follow', { width: 200 }, [400, 300], [200, 150]],
    ['has the width follow', { height: 30 }, [400, 300], [40, 30]],
    ['fits a picture into a box', { ...square, fit: 'inside' }, [400, 300], [100, 75]],
    ['covers it', { ...square, fit: 'cover' }, [400, 300], [100, 100]],
    ['stretches to it', { ...square, fit: 'fill' }, [400, 300], [100, 100]],
    ['does not enlarge', { width: 800 }, [400, 100], [400, 100]],
    ['does not enlarge into a box', { ...box, fit: 'inside' }, [400, 100], [400, 100]],
    ['cuts the shape out of a smaller one', { ...box, fit: 'cover' }, [400, 300], [400, 100]],
    ['stretches in one direction alone', { ...box, fit: 'fill' }, [400, 300], [400, 200]],
    ['enlarges where it is to', { width: 800, enlarge: true }, [400, 100], [800, 200]],
  ] as [string, Partial<SizeWanted>, [number, number], number[]][]) {
    it(what, () => expect(resized(...from, size)).to.deep.equal(to));
  }

  it('leaves a picture that is small enough as it is', async () => {
    const { image, steps } = picture(40, 30);
    await resize(image, { ...wanted, width: 50 }).encode('png');
    expect(steps).to.deep.equal([]);
  });

  it('centres what contain pads', async () => {
    const { image } = picture(100, 40);
    const given: unknown[] = [];
    const seen: Image = {
      ...image,
      border(options) {
        given.push(options);
        return image.border(options);
      },
    };
    resize(seen, { ...wanted, width: 103, height: 43, fit: 'contain', background: '#123456' });
    expect(given).to.deep.equal([{ width: 0, top: 1, right: 2, bottom: 2, left: 1, color: '#123456' }]);
  });

  it('gives a size that keeps what was asked for, whatever it was', () => {
    const side = fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 20 }));
    fc.assert(
      fc.property(
        fc.record({ w: side, h: side, width: side, height: side }),
        fc.constantFrom('inside', 'cover', 'contain', 'fill'),
        fc.boolean(),
        ({ w, h, width, height }, fit, enlarge) => {
          const [across = 0, down = 0] = resized(w, h, { width, height, fit, enlarge });
          expect(across).to.be.within(1, width);
          expect(down).to.be.within(1, height);
          if (fit === 'contain') expect([across, down]).to.deep.equal([width, height]);
          if (fit !== 'contain' && !enlarge) {
            expect(across).to.be.at.most(w);
            expect(down).to.be.at.most(h);
          }
          if (enlarge && fit !== 'inside') expect([across, down]).to.deep.equal([width, height]);
        },
      ),
    );
  });
});

describe('media/add-watermark', () => {
  const placing = { position: 'bottom-right', opacity: 0.5, margin: 'auto', rotate: 0 } as const;
  const style = { font_size: 'auto', color: 'auto', outline: 0, wrap: false, max_lines: 10 } as const;
  const more = { tile: false, spacing: 'auto', scale: 0.2, format: 'png' } as const;
  const input = { ...placing, ...style, ...more };

  it('reports every parameter as understood in a dry run, of which none is needed', async () => {
    expect(await call(addWatermark, {}, { dryrun: true })).to.deep.equal({
      operation: 'add-watermark',
      source_url: null,
      text: null,
      mark_url: null,
      ...input,
    });
    const sent = {
      url,
      mark_url: url,
      position: 'C',
      margin: '05.50%',
      rotate: -45,
      tile: true,
      scale: '25%',
    };
    const normal = {
      position: 'center',
      margin: '5.5%',
      rotate: -45,
      tile: true,
      spacing: 'auto',
      scale: 0.25,
    };
    const understood = { source_url: url, mark_url: url, ...normal };
    expect(await call(addWatermark, sent as never, { dryrun: true })).to.include(understood);
  });

  it('draws the text, with lines broken where it is to, or lays the logo, tiled', async () => {
    const { font_size: fontSize, color, outline } = style;
    const text = { ...placing, tile: undefined, fontSize, color, outline, wrap: undefined, text: 'Hi' };
    const asked = { ...input, text: 'Hi', format: 'webp' } as const;
    expect(await drawn(addWatermark, asked)).to.deep.equal([{ watermark: text }, { encode: 'webp' }]);
    const [wrapped] = await drawn(addWatermark, { ...asked, wrap: true, max_lines: 2 });
    expect(wrapped).to.deep.equal({ watermark: { ...text, wrap: { maxLines: 2 } } });
    const logo = await drawn(addWatermark, { ...input, tile: true, spacing: 4 }, { mark: encoded });
    const watermark = { ...placing, tile: { spacing: 4 }, mark: encoded, scale: 0.2 };
    expect(logo).to.deep.equal([{ watermark }, { encode: 'png' }]);
  });

  const both = 'mark_url is sent together with text; send only one of text and mark_url';
  const scale =
    'scale must be a fraction from 0.01 to 1, or per cent as 2 to 100 or "50%", but is the string "0.5%"';
  const styled = { mark_url: url, font_size: 9, outline: 1, wrap: true };
  for (const [what, sent, ...problems] of [
    [
      'neither text nor logo',
      {},
      'text is required: a string of 1 to 500 characters that the fonts here can draw; or in its place send the url of a picture as mark_url, or upload one as mark',
    ],
    ['both', { text: 'a', mark_url: url }, both],
    [
      'the style of a text for a logo',
      styled,
      ...['font_size', 'outline', 'wrap'].map((field) => `${field} means nothing beside mark_url`),
    ],
    [
      'the size of a logo for a text',
      { text: 'a', scale: 0.5 },
      'scale means nothing without mark_url or mark',
    ],
    ['a logo that is not to be seen', { mark_url: url, scale: '0.5%' }, scale],
    [
      'spacing without tiles',
      { text: 'a', spacing: 3 },
      'spacing is for tile true; with tile false it means nothing',
    ],
    [
      'more than one rotation',
      { text: 'a', rotate: 361 },
      'rotate must be a number from -360 to 360, but is the number 361',
    ],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const files = { file: new URL('../../../plugins/media/example.jpg', import.meta.url) };
      const error = await call(addWatermark, sent as never, { files }).catch((caught) => caught);
      expect(error).to.include({ code: 'invalid_input' });
      expect(inWords(error.details)).to.deep.equal(problems);
    });
  }

  it('says which of its pictures is broken', async () => {
    const whole = readFileSync(new URL('../../../plugins/media/example.jpg', import.meta.url));
    // The header is whole, and what follows is not.
    const broken = whole.subarray(0, whole.length / 2);
    const messageOf = (input: object, files: Record<string, Uint8Array>) =>
      call(addWatermark, input as never, { files: files as never, fetch: () => ({ bytes: broken }) }).then(
        () => 'none',
        (error) => `${error.code} ${error.message}`,
      );
    const problem = 'The image cannot be decoded: its data is broken or cut off.';
    expect(await messageOf({}, { file: whole, mark: broken })).to.contain(`bad_image mark: ${problem}`);
    const url = 'https://example.com/a.jpg';
    expect(await messageOf({ mark_url: url }, { file: whole })).to.contain(`bad_image mark_url: ${problem}`);
    expect(await messageOf({}, { file: broken, mark: whole })).to.contain(`bad_image ${problem}`);
  });
});
