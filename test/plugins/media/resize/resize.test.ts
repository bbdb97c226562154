import { expect } from 'chai';
import fc from 'fast-check';
import { resize, type SizeWanted } from '../../../../plugins/media/resize/resize.js';
import type { Image } from '../../../../pool/image/engine.js';
import { recordImage } from '../../../../pool/image/operation.js';
import type { Operation } from '../../../../pool/image/recipe.js';

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
