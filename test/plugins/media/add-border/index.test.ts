import { expect } from 'chai';
import addBorder from '../../../../plugins/media/add-border/index.js';
import { callContext } from '../../call-context.js';
import { recordingImage } from '../recording-image.js';

const context = callContext('media/add-border');
const input = { width: 20, color: '#800080', format: 'png' } as const;

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

  it('tells source_url null where none was given', () => {
    expect(addBorder.dryrun?.(input, context)).to.include({ source_url: null });
  });

  it('draws the border and encodes', async () => {
    const { image, calls } = recordingImage();
    expect(await addBorder.handler(input, { ...context, image })).to.include({ type: 'image/test' });
    expect(calls).to.deep.equal([{ border: { width: 20, color: '#800080' } }, { encode: 'png' }]);
  });
});
