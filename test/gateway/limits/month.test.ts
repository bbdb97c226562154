import { expect } from 'chai';
import fc from 'fast-check';
import { createMonthClock } from '../../../gateway/limits/month.js';

describe('month', () => {
  const monthOf = createMonthClock();

  it('is told in UTC with what is left of it', () => {
    expect(monthOf(Date.UTC(2024, 1, 28))).to.deep.equal({
      name: '2024-02',
      seconds: 29 * 86_400,
      left: 172_800,
    });
    expect(monthOf(Date.UTC(2024, 11, 31, 23, 59, 59, 1))).to.include({ name: '2024-12', left: 1 });
  });

  it('always has a second left, and the next moment after it is another month', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date('9998-12-31'), noInvalidDate: true }), (date) => {
        const { name, seconds, left } = monthOf(date.getTime());
        expect(left).to.be.within(1, seconds);
        expect(monthOf(date.getTime() + left * 1000).name).to.not.equal(name);
      }),
    );
  });
});
