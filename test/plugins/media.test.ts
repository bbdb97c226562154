import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { call } from '../../gateway/testing.js';
import addBorder from '../../plugins/media/add-border/index.js';
import addWatermark from '../../plugins/media/add-watermark/index.js';
import convert from '../../plugins/media/convert/index.js';
import { resize, type SizeWanted } from '../../plugins/media/resize/resize.js';
import type { Image } from '../../pool/image/engine.js';
import { type Operation, recordImage } from '../../pool/image/recipe.js';
import { callContext, recordingImage } from './call-context.js';

describe('media/add-border', () => {
  const context = callContext('media/add-border');
  const input = { width: 20, color: '#800080', radius: 0, inset: false, format: 'png' } as const;

  it('reports in a dry run what it would do', () => {
    const url = 'https://example.com/a.png';
    const plain = { border_width: 20, color: '#800080', format: 'png' };
    expect(addBorder.dryrun?.({ ...input, url }, context)).to.deep.equal({ source_url: url, ...plain });
    const more = { top: '5%', radius: 8, inset: true, format: 'jpg', quality: 70 } as const;
    expect(addBorder.dryrun?.({ ...input, ...more }, context)).to.include({ source_url: null, ...more });
  });

  it('draws the border and encodes', async () => {
    const { image, calls } = recordingImage();
    expect(await addBorder.handler(input, { ...context, image })).to.include({ type: 'image/test' });
    const sides = { top: undefined, right: undefined, bottom: undefined, left: undefined };
    const border = { width: 20, ...sides, color: '#800080', radius: 0, inset: false };
    expect(calls).to.deep.equal([{ border }, { encode: 'png' }]);
  });
});

describe('media/convert', () => {
  const context = callContext('media/convert');

  it('tells in a dry run what it would do', () => {
    const url = 'https://example.com/a.png';
    expect(convert.dryrun?.({ url, format: 'avif', quality: 50 }, context)).to.deep.equal({
      operation: 'convert',
      source_url: url,
      format: 'avif',
      quality: 50,
    });
    expect(convert.dryrun?.({ format: 'same' }, context)).to.deep.equal({
      operation: 'convert',
      source_url: null,
      format: 'same',
    });
  });

  it('encodes and does nothing else', async () => {
    const { image, calls } = recordingImage();
    expect(await convert.handler({ format: 'webp' }, { ...context, image })).to.include({
      type: 'image/test',
    });
    expect(calls).to.deep.equal([{ encode: 'webp' }]);
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
    limits: { maxPixels: 1e9, maxFrames: 1 },
    async render(operations) {
      steps.push(...operations.map(({ kind }) => kind));
      return new Uint8Array(0);
    },
    pixels: () => Promise.reject(new Error('nobody looks at it')),
  });
  return { image, steps };
}

const wanted: SizeWanted = { fit: 'inside', enlarge: false, background: '#ffffff' };
const sizeOf = ({ width, height }: Image) => [width, height];
const resized = (width: number, height: number, size: Partial<SizeWanted>) =>
  sizeOf(resize(picture(width, height).image, { ...wanted, ...size }));

describe('media/resize', () => {
  it('has the other side follow the one that is given', () => {
    expect(resized(400, 300, { width: 200 })).to.deep.equal([200, 150]);
    expect(resized(400, 300, { height: 30 })).to.deep.equal([40, 30]);
  });

  it('fits a picture into a box, covers it, pads up to it or stretches to it', () => {
    const box = { width: 100, height: 100 };
    expect(resized(400, 300, { ...box, fit: 'inside' })).to.deep.equal([100, 75]);
    expect(resized(400, 300, { ...box, fit: 'cover' })).to.deep.equal([100, 100]);
    expect(resized(400, 300, { ...box, fit: 'contain' })).to.deep.equal([100, 100]);
    expect(resized(400, 300, { ...box, fit: 'fill' })).to.deep.equal([100, 100]);
  });

  it('enlarges nothing unless it is asked to', () => {
    const box = { width: 800, height: 200 };
    expect(resized(400, 100, { width: 800 })).to.deep.equal([400, 100]);
    expect(resized(400, 100, { ...box, fit: 'inside' })).to.deep.equal([400, 100]);
    expect(resized(400, 300, { ...box, fit: 'cover' })).to.deep.equal([400, 100]);
    expect(resized(400, 100, { ...box, fit: 'contain' })).to.deep.equal([800, 200]);
    expect(resized(400, 300, { ...box, fit: 'fill' })).to.deep.equal([400, 200]);
    expect(resized(400, 100, { width: 800, enlarge: true })).to.deep.equal([800, 200]);
    expect(resized(400, 300, { ...box, fit: 'cover', enlarge: true })).to.deep.equal([800, 200]);
    expect(resized(40, 30, { ...box, fit: 'fill', enlarge: true })).to.deep.equal([800, 200]);
  });

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
  const context = { ...callContext('media/add-watermark'), files: { mark: undefined } };
  const placing = { position: 'bottom-right', opacity: 0.5, margin: 'auto', rotate: 0 } as const;
  const style = { font_size: 'auto', color: 'auto', outline: 0, wrap: false, max_lines: 10 } as const;
  const more = { tile: false, spacing: 'auto', scale: 0.2, format: 'png' } as const;
  const input = { ...placing, ...style, ...more };

  it('tells its operation and every parameter as understood in a dry run, of which none is needed', async () => {
    expect(await call(addWatermark, {}, { dryrun: true })).to.deep.equal({
      operation: 'add-watermark',
      source_url: null,
      text: null,
      mark_url: null,
      ...input,
    });
    const url = 'https://example.com/a.png';
    const sent = {
      url,
      mark_url: url,
      position: 'C',
      margin: '05.50%',
      rotate: -45,
      tile: true,
      scale: '25%',
    } as const;
    expect(await call(addWatermark, sent as never, { dryrun: true })).to.include({
      source_url: url,
      mark_url: url,
      position: 'center',
      margin: '5.5%',
      rotate: -45,
      tile: true,
      spacing: 'auto',
      scale: 0.25,
    });
  });

  it('draws the text and encodes', async () => {
    const { image, calls } = recordingImage();
    const answer = await addWatermark.handler(
      { ...input, text: 'Hi', format: 'webp' },
      { ...context, image },
    );
    expect(answer).to.include({ type: 'image/test' });
    const { font_size: fontSize, color, outline } = style;
    const watermark = { ...placing, tile: undefined, fontSize, color, outline, wrap: undefined, text: 'Hi' };
    expect(calls).to.deep.equal([{ watermark }, { encode: 'webp' }]);
  });

  it('lays the logo, tiled', async () => {
    const { image, calls } = recordingImage();
    const { image: mark } = recordingImage();
    await addWatermark.handler({ ...input, tile: true, spacing: 4 }, { ...context, image, files: { mark } });
    const watermark = { ...placing, tile: { spacing: 4 }, mark, scale: 0.2 };
    expect(calls).to.deep.equal([{ watermark }, { encode: 'png' }]);
  });

  it('breaks lines where it is asked to', async () => {
    const { image, calls } = recordingImage();
    await addWatermark.handler({ ...input, text: 'Hi', wrap: true, max_lines: 2 }, { ...context, image });
    expect(calls[0]).to.have.nested.property('watermark.wrap.maxLines', 2);
  });

  for (const [what, sent, problems] of [
    [
      'neither text nor logo',
      {},
      [
        'text is required: a string of 1 to 500 characters that the fonts here can draw; or in its place send the url of a picture as mark_url, or upload one as mark',
      ],
    ],
    [
      'both',
      { text: 'a', mark_url: 'https://example.com/a.png' },
      ['mark_url is sent together with text; send only one of text and mark_url'],
    ],
    [
      'the style of a text for a logo',
      { mark_url: 'https://example.com/a.png', font_size: 9, outline: 1, wrap: true },
      [
        'font_size means nothing beside mark_url',
        'outline means nothing beside mark_url',
        'wrap means nothing beside mark_url',
      ],
    ],
    [
      'the size of a logo for a text',
      { text: 'a', scale: 0.5 },
      ['scale means nothing without mark_url or mark'],
    ],
    [
      'a logo that is not to be seen',
      { mark_url: 'https://example.com/a.png', scale: '0.5%' },
      ['scale must be a fraction from 0.01 to 1, or per cent as 2 to 100 or "50%", but is the string "0.5%"'],
    ],
    [
      'spacing without tiles',
      { text: 'a', spacing: 3 },
      ['spacing is for tile true; with tile false it means nothing'],
    ],
    [
      'a turn too many',
      { text: 'a', rotate: 361 },
      ['rotate must be a number from -360 to 360, but is the number 361'],
    ],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const files = { file: new URL('../../../plugins/media/example.jpg', import.meta.url) };
      const error = await call(addWatermark, sent as never, { files }).then(
        () => undefined,
        (caught) => caught,
      );
      expect(error).to.include({ code: 'invalid_input' });
      const told = error.details.map(
        ({ field, problem }: { field: string; problem: string }) => `${field} ${problem}`,
      );
      expect(told).to.deep.equal(problems);
    });
  }

  it('says which of its pictures is broken', async () => {
    const file = new URL('../../../plugins/media/example.jpg', import.meta.url);
    const whole = readFileSync(file);
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
