import { expect } from 'chai';
import fc from 'fast-check';
import { dropOpaqueAlpha } from '../../../pool/image/raster.js';

const bytes = fc.integer({ min: 1, max: 3000 }).chain((pixels) => {
  const length = pixels * 4;
  return fc.uint8Array({ minLength: length, maxLength: length });
});

describe('dropOpaqueAlpha', () => {
  it('leaves the colours of what is opaque, wherever its bytes lie', () => {
    fc.assert(
      fc.property(bytes, fc.nat(7), (pixels, offset) => {
        const data = pixels.map((value, i) => (i % 4 === 3 ? 255 : value));
        const moved = new Uint8Array(data.length + offset).subarray(offset);
        moved.set(data);
        const dropped = dropOpaqueAlpha({
          data: moved,
          width: data.length / 4,
          height: 1,
          channels: 4,
          frames: 1,
        });
        expect(dropped.channels).to.equal(3);
        expect([...dropped.data]).to.deep.equal([...data.filter((_, i) => i % 4 !== 3)]);
      }),
    );
  });

  it('gives back what has one pixel that is not, wherever it is', () => {
    fc.assert(
      fc.property(bytes, fc.nat(), fc.nat(254), (pixels, at, alpha) => {
        const data = pixels.map((value, i) => (i % 4 === 3 ? 255 : value));
        data[(at % (data.length / 4)) * 4 + 3] = alpha;
        const raster = { data, width: data.length / 4, height: 1, channels: 4 as const, frames: 1 };
        expect(dropOpaqueAlpha(raster)).to.equal(raster);
      }),
    );
  });
});
