import { expect } from 'chai';
import { ImageError } from '../../../../pool/image/engine.js';
import { sharpFault } from '../../../../pool/image/sharp/fault.js';

function faultOf(message: string): unknown {
  try {
    return sharpFault(new Error(message));
  } catch (error) {
    return error;
  }
}

describe('sharpFault', () => {
  it('is helper_timeout where the native work took too long', () => {
    expect(faultOf('timeout: 42% complete'))
      .to.include({ code: 'helper_timeout' })
      .and.not.instanceOf(ImageError);
  });

  it('is image_too_large where more is decoded than the header said', () => {
    expect(faultOf('Input image exceeds pixel limit'))
      .to.be.instanceOf(ImageError)
      .and.include({ code: 'image_too_large' });
  });

  it("is bad_image for all else, without the library's words", () => {
    const error = faultOf('VipsJpeg: premature end of JPEG image') as ImageError;
    expect(error).to.include({ code: 'bad_image' });
    expect(error.message).to.not.include('Vips');
    expect((error.cause as Error).message).to.include('Vips');
  });
});
