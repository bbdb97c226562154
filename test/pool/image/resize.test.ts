import { expect } from 'chai';
import fc from 'fast-check';
import { shrinkRaster } from '../../../pool/image/resize.js';
import { pixelAt, rasters } from './rasters.js';

describe('shrinkRaster', () => {
  it('means the pixels that each covers, so that what is clear lends no colour', () => {
    const data = Uint8Array.from([200, 0, 0, 255, 9, 9, 9, 0, 100, 0, 0, 255, 9, 9, 9, 0]);
    const shrunk = shrinkRaster({ data, width: 2, height: 2, channels: 4, frames: 1 }, 2);
    expect([...shrunk.data]).to.deep.equal([150, 0, 0, 128]);
  });

  it('is the first frame as it is at one time, where that is not clear', () => {
    fc.assert(
      fc.property(rasters(), (raster) => {
        const { width, height, data, ...rest } = shrinkRaster(raster, 1);
        expect({ width, height, ...rest }).to.deep.equal({
          width: raster.width,
          height: raster.height,
          channels: 4,
          frames: 1,
        });
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) {
            const pixel = pixelAt(raster, 0, x, y);
            const at = (y * width + x) * 4;
            expect([...data.subarray(at, at + 4)]).to.deep.equal(pixel[3] === 0 ? [0, 0, 0, 0] : pixel);
          }
        }
      }),
    );
  });
});
