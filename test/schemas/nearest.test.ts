import { expect } from 'chai';
import { nearest } from '../../schemas/nearest.js';

describe('nearest', () => {
  const names = ['width', 'color', 'format', 'url', 'a', 'b'];

  it('finds slips, other cases and beginnings', () => {
    for (const [slip, name] of [
      ['widht', 'width'],
      ['colour', 'color'],
      ['Format', 'format'],
      ['form', 'format'],
      ['urls', 'url'],
    ]) {
      expect(nearest(slip ?? '', names)).to.equal(name);
    }
  });

  it('finds nothing for what is far, empty or very long', () => {
    for (const name of ['opacity', 'x', '', 'w'.repeat(100_000)])
      expect(nearest(name, names)).to.equal(undefined);
  });
});
