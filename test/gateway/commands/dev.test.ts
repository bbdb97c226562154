import { expect } from 'chai';
import { problemLines, reloadLine } from '../../../gateway/commands/dev.js';

const nothing = { added: [], reloaded: [], removed: [], problems: [], skipped: [], ms: 40.6 };

describe('the line of a reload', () => {
  it('says what changed, and how long it took', () => {
    expect(reloadLine({ ...nothing, reloaded: ['text/shout'] })).to.equal('reloaded text/shout in 41 ms');
    expect(reloadLine({ ...nothing, added: ['a', 'b'], removed: ['c'] })).to.equal(
      'added a, b, removed c in 41 ms',
    );
  });

  it('names the first of many', () => {
    const reloaded = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    expect(reloadLine({ ...nothing, reloaded })).to.equal('reloaded a, b, c, d and 3 more in 41 ms');
  });

  it('is none where nothing changed', () => {
    expect(reloadLine(nothing)).to.equal(undefined);
  });

  it('of a problem has the file, and each reason below it', () => {
    expect(problemLines([{ file: '/p/a.mjs', reason: 'one\ntwo' }])).to.deep.equal([
      'cannot load /p/a.mjs\n    one\n    two',
    ]);
    expect(problemLines([], [{ file: '/p/a', reason: 'is skipped: x' }])).to.deep.equal([
      '/p/a is skipped: x',
    ]);
  });
});
