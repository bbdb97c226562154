import { expect } from 'chai';
import addWatermark from '../../../../plugins/media/add-watermark/index.js';
import { callContext } from '../../call-context.js';
import { recordingImage } from '../recording-image.js';

const context = callContext('media/add-watermark');
const input = {
  position: 'bottom-right',
  opacity: 0.5,
  font_size: 32,
  color: '#ffffff',
  format: 'png',
} as const;

describe('media/add-watermark', () => {
  it('tells its operation and every parameter as understood in a dry run with a url alone', () => {
    const url = 'https://example.com/a.png';
    expect(addWatermark.dryrun?.({ ...input, url }, context)).to.deep.equal({
      operation: 'add-watermark',
      source_url: url,
      text: null,
      ...input,
    });
  });

  it('draws the text and encodes', async () => {
    const { image, calls } = recordingImage();
    const answer = await addWatermark.handler(
      { ...input, text: 'Hi', format: 'webp' },
      { ...context, image },
    );
    expect(answer).to.include({ type: 'image/test' });
    const watermark = { text: 'Hi', position: 'bottom-right', opacity: 0.5, fontSize: 32, color: '#ffffff' };
    expect(calls).to.deep.equal([{ watermark }, { encode: 'webp' }]);
  });
});
