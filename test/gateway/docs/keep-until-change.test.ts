import { expect } from 'chai';
import { keepUntilChange } from '../../../gateway/docs/keep-until-change.js';
import { HelperShelf } from '../../../gateway/helpers/live-registry.js';

describe('keepUntilChange', () => {
  it('makes each thing once, until the helpers change, and keeps no more than it may', () => {
    const shelf = new HelperShelf();
    const keep = keepUntilChange<object>(shelf, () => 2);
    const first = keep('a', () => ({}));
    const second = keep('b', () => ({}));
    expect(keep('c', () => ({}))).not.to.equal(keep('c', () => ({})));
    expect([keep('a', () => ({})), keep('b', () => ({}))]).to.deep.equal([first, second]);
    expect(keep('a', () => ({}))).to.equal(first);
    shelf.replaceAll(new Map());
    expect(keep('a', () => ({}))).not.to.equal(first);
  });
});
