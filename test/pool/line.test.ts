import { expect } from 'chai';
import fc from 'fast-check';
import { Line } from '../../pool/line.js';

describe('a line', () => {
  it('has its oldest item first, whoever joins and leaves', () => {
    const step = fc.oneof(
      fc.constant('join' as const),
      fc.constant('serve' as const),
      fc.record({ leave: fc.nat({ max: 60 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const line = new Line<number>();
        let plain: number[] = [];
        let id = 0;
        for (const one of steps) {
          if (one === 'join') {
            line.add(id);
            plain.push(id);
            id += 1;
          } else {
            const item = one === 'serve' ? line.first() : one.leave;
            expect(item !== undefined && line.delete(item)).to.equal(plain.includes(item as number));
            plain = plain.filter((other) => other !== item);
          }
          expect(line.size).to.equal(plain.length);
          // Not after every step: an item may leave that was never looked at.
          if (line.size % 3 !== 0) expect(line.first()).to.equal(plain[0]);
        }
        for (const item of plain) {
          expect(line.first()).to.equal(item);
          line.delete(item);
        }
        expect(line.first()).to.equal(undefined);
      }),
    );
  });
});
