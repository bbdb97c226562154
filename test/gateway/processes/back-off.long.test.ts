import { expect } from 'chai';
import { createBackOff } from '../../../gateway/processes/back-off.js';

describe('the wait before a process is started again', () => {
  it('is none at first, and doubles for what ends again and again', () => {
    const waitAfter = createBackOff();
    const waits = Array.from({ length: 8 }, () => waitAfter(10));
    expect(waits).to.deep.equal([0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it('is none again after a minute of life', () => {
    const waitAfter = createBackOff();
    expect([waitAfter(10), waitAfter(10), waitAfter(60_000), waitAfter(10)]).to.deep.equal([
      0, 1_000, 0, 1_000,
    ]);
  });
});
