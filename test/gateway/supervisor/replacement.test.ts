import { expect } from 'chai';
import { changesOf, describeChanges } from '../../../gateway/supervisor/replacement.js';

const served = (...ids: string[]) => ({
  helpers: Object.fromEntries(ids.map((id) => [id, `/p/${id}.mjs`])),
  problems: [],
});

describe('what a replacement has changed', () => {
  it('are the helpers that came, those that went, and those that a changed file concerns', () => {
    const changed = new Set(['/p/b.mjs', '/p/d.mjs']);
    const changes = changesOf(served('a', 'b', 'c'), served('b', 'c', 'd'), changed);
    expect(changes).to.deep.equal({ added: ['d'], reloaded: ['b'], removed: ['a'] });
  });

  it('are all helpers where a file that they may share has changed, or everything', () => {
    const both = { added: [], reloaded: ['a', 'b'], removed: [] };
    expect(changesOf(served('a', 'b'), served('a', 'b'), new Set(['/p/words.json']))).to.deep.equal(both);
    expect(changesOf(served('a', 'b'), served('a', 'b'), 'all')).to.deep.equal(both);
  });

  it('is a line, which names the first of many', () => {
    const nothing = { added: [], reloaded: [], removed: [] };
    const few = { ...nothing, added: ['a', 'b'], removed: ['c'] };
    expect(describeChanges(few)).to.equal('added a, b, removed c');
    const reloaded = [...'abcdefg'];
    expect(describeChanges({ ...nothing, reloaded })).to.equal('reloaded a, b, c, d and 3 more');
    expect(describeChanges(nothing)).to.equal(undefined);
  });
});
