import { expect } from 'chai';
import addBorder from '../../../../plugins/media/add-border/index.js';
import { callContext } from '../../call-context.js';
import { recordingImage } from '../recording-image.js';

const context = callContext('media/add-border');
const input = { width: 20, color: '#800080', radius: 0, inset: false, format: 'png' } as const;

describe('media/add-border', () => {
  it('tells in a dry run what it would do', () => {
    const url = 'https://example.com/a.png';
    expect(addBorder.dryrun?.({ ...input, url }, context)).to.deep.equal({
      source_url: url,
      border_width: 20,
      color: '#800080',
      format: 'png',
    });
  });

  it('tells what else was asked for', () => {
    const more = { top: '5%', radius: 8, inset: true, format: 'jpg', quality: 70 } as const;
    expect(addBorder.dryrun?.({ ...input, ...more }, context)).to.include(more);
  });

  it('tells source_url null where none was given', () => {
    expect(addBorder.dryrun?.(input, context)).to.include({ source_url: null });
  });

  it('draws the border and encodes', async () => {
    const { image, calls } = recordingImage();
    expect(await addBorder.handler(input, { ...context, image })).to.include({ type: 'image/test' });
    const sides = { top: undefined, right: undefined, bottom: undefined, left: undefined };
    const border = { width: 20, ...sides, color: '#800080', radius: 0, inset: false };
    expect(calls).to.deep.equal([{ border }, { encode: 'png' }]);
  });
});
