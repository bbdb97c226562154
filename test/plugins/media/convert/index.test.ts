import { expect } from 'chai';
import convert from '../../../../plugins/media/convert/index.js';
import { callContext } from '../../call-context.js';
import { recordingImage } from '../recording-image.js';

const context = callContext('media/convert');

describe('media/convert', () => {
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
