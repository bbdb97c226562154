import { expect } from 'chai';
import { duration } from '../../../../gateway/site/pages/elements.js';

describe('site: times', () => {
  for (const [ms, text] of [
    [0, '0 ms'],
    [43.4, '43 ms'],
    [999.6, '1.0 s'],
    [1250, '1.3 s'],
    [3_600_000, '3,600.0 s'],
  ] as const) {
    it(`writes ${ms} ms as ${text}`, () => expect(duration(ms)).to.equal(text));
  }
});
