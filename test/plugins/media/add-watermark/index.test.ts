import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { call } from '../../../../gateway/testing.js';
import addWatermark from '../../../../plugins/media/add-watermark/index.js';
import { callContext } from '../../call-context.js';
import { recordingImage } from '../recording-image.js';

const context = { ...callContext('media/add-watermark'), files: { mark: undefined } };
const placing = { position: 'bottom-right', opacity: 0.5, margin: 'auto', rotate: 0 } as const;
const style = { font_size: 'auto', color: 'auto', outline: 0, wrap: false, max_lines: 10 } as const;
const more = { tile: false, spacing: 'auto', scale: 0.2, format: 'png' } as const;
const input = { ...placing, ...style, ...more };

describe('media/add-watermark', () => {
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
      const files = { file: new URL('../../../../../plugins/media/example.jpg', import.meta.url) };
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
    const file = new URL('../../../../../plugins/media/example.jpg', import.meta.url);
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
