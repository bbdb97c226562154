import { expect } from 'chai';
import fc from 'fast-check';
import { boundsBeforeRotation, fitRotated, largestRotated } from '../../../pool/image/mark.js';
import { rotatedSize, rotateOverlay } from '../../../pool/image/rotate.js';

const side = fc.integer({ min: 3, max: 3000 });
const size = fc.record({ width: side, height: side });
const degrees = fc.oneof(
  fc.double({ min: 0, max: 360, maxExcluded: true, noNaN: true }),
  fc.constantFrom(0, 30, 45, 90, 135, 180, 270, 315),
);

describe('a turned box', () => {
  it('lies in the room: the largest of its proportions, and no larger than it is', () => {
    fc.assert(
      fc.property(size, size, degrees, (box, room, angle) => {
        const fitted = fitRotated(box, room, angle);
        expect(fitted.width).to.be.within(1, box.width);
        expect(fitted.height).to.be.within(1, box.height);
        // What is not a whole pixel wide or high is one all the same.
        if (Math.min(fitted.width, fitted.height) === 1) return;
        const turned = rotatedSize(fitted, angle);
        expect(turned.width).to.be.at.most(room.width);
        expect(turned.height).to.be.at.most(room.height);
        const whole = rotatedSize(box, angle);
        if (whole.width < room.width && whole.height < room.height) expect(fitted).to.deep.equal(box);
        // Rounding apart, it touches two sides, or is as it was.
        const larger = rotatedSize({ width: fitted.width + 2, height: fitted.height + 2 }, angle);
        const isLargest = larger.width > room.width || larger.height > room.height;
        expect(isLargest || fitted.width >= box.width - 1 || fitted.height >= box.height - 1).to.equal(true);
      }),
    );
  });

  it('lies in the room where its area is the largest, and no other of that length is higher', () => {
    fc.assert(
      fc.property(size, degrees, (room, angle) => {
        const box = largestRotated(room, angle);
        if (Math.min(box.width, box.height) === 1) return;
        const turned = rotatedSize(box, angle);
        expect(turned.width).to.be.at.most(room.width);
        expect(turned.height).to.be.at.most(room.height);
        const bounds = boundsBeforeRotation(room, angle);
        expect(box.width).to.be.at.most(bounds.width);
        expect(box.height).to.be.at.most(bounds.height);
        const others = Array.from({ length: 20 }, (_, i) =>
          fitRotated({ width: bounds.width * ((i + 1) / 20), height: bounds.height }, room, angle),
        );
        const most = Math.max(...others.map(({ width, height }) => width * height));
        expect(most).to.be.at.most((box.width + 1) * (box.height + 1));
      }),
    );
  });
});

describe('turnOverlay', () => {
  const overlay = { data: Uint8Array.from({ length: 24 }, (_, i) => i), width: 3, height: 2 };

  it('moves pixels and changes none by quarters', () => {
    const quarter = rotateOverlay(overlay, 90);
    expect([quarter.width, quarter.height]).to.deep.equal([2, 3]);
    expect([...quarter.data.subarray(0, 8)]).to.deep.equal([12, 13, 14, 15, 0, 1, 2, 3]);
    const back = rotateOverlay(rotateOverlay(quarter, 180), 90);
    expect(Buffer.from(back.data)).to.deep.equal(Buffer.from(overlay.data));
    expect(rotateOverlay(overlay, 0)).to.equal(overlay);
  });

  it('keeps colours within their alpha at any angle, on nothing', () => {
    const pixel = [100, 50, 0, 200];
    const plain = {
      data: Uint8Array.from({ length: 20 * 10 * 4 }, (_, i) => pixel[i % 4] as number),
      width: 20,
      height: 10,
    };
    fc.assert(
      fc.property(degrees, (angle) => {
        const turned = rotateOverlay(plain, angle);
        let ink = 0;
        for (let i = 0; i < turned.data.length; i += 4) {
          const [red = 0, green = 0, blue = 0, alpha = 0] = turned.data.subarray(i, i + 4);
          ink += alpha;
          expect(red).to.be.within(Math.floor(alpha / 2) - 1, Math.ceil(alpha / 2) + 1);
          expect(Math.abs(green - alpha / 4)).to.be.at.most(1);
          expect(blue).to.equal(0);
        }
        expect(ink / (200 * 200)).to.be.within(0.97, 1.03);
      }),
    );
  });
});
