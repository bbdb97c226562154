import { expect } from 'chai';
import { writeProblem } from '../../gateway/write-problem.js';

describe('writeProblem', () => {
  const told = (code: string) =>
    writeProblem(Object.assign(new Error(`${code}: in other words`), { code }), '/a/b');

  it('names the place and the reason, whatever the reason is', () => {
    const codes = ['ENOENT', 'EISDIR', 'ENOTDIR', 'EEXIST', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT', 'EROFS'];
    for (const code of [...codes, 'ENAMETOOLONG'])
      expect(told(code))
        .to.match(/\/a(\/b)?\b/)
        .and.not.contain(code);
    expect(told('EIO')).to.equal('/a/b: EIO: in other words');
    expect(told('EROFS')).to.equal('/a is on a disk that can only be read');
  });
});
