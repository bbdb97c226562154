import { expect } from 'chai';
import { slices } from '../../../gateway/database/slices.js';

describe('database/slices', () => {
  it('cuts into parts, the last one shorter', () => {
    expect([...slices([1, 2, 3, 4, 5], 2)]).to.deep.equal([[1, 2], [3, 4], [5]]);
    expect([...slices([], 2)]).to.deep.equal([]);
  });
});
