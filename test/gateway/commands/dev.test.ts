import { expect } from 'chai';
import { problemLines } from '../../../gateway/commands/dev.js';

describe('what cannot be loaded', () => {
  it('is told with its file, and each reason below it', () => {
    expect(problemLines([{ file: '/p/a.mjs', reason: 'one\ntwo' }])).to.deep.equal([
      'cannot load /p/a.mjs\n    one\n    two',
    ]);
  });
});
