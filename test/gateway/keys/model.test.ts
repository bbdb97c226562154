import { expect } from 'chai';

import { knownScopes, scopeAllows } from '../../../gateway/keys/model.js';

describe('keys/scopes', () => {
  it('allows everything without scopes', () => {
    expect(scopeAllows(null, 'text/remove-stopwords')).to.equal(true);
  });

  it('allows a helper by its id and by its folder', () => {
    expect(scopeAllows(['text/remove-stopwords'], 'text/remove-stopwords')).to.equal(true);
    expect(scopeAllows(['media/add-border', 'text/*'], 'text/remove-stopwords')).to.equal(true);
    expect(scopeAllows(['a/*'], 'a/b/c')).to.equal(true);
  });

  it('does not take a beginning of a name for a folder', () => {
    expect(scopeAllows(['text/remove'], 'text/remove-stopwords')).to.equal(false);
    expect(scopeAllows(['text/*'], 'textual/analysis')).to.equal(false);
    expect(scopeAllows(['media/*'], 'text/remove-stopwords')).to.equal(false);
  });

  it('knows each helper and each folder', () => {
    expect(knownScopes(['ping', 'text/a', 'text/deep/b'])).to.deep.equal([
      'ping',
      'text/*',
      'text/a',
      'text/deep/*',
      'text/deep/b',
    ]);
  });
});
