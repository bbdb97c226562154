import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';
import { expect } from 'chai';
import { makeFolder, writeProblem } from '../../gateway/file-system.js';

describe('makeFolder', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'make-folder-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const codeOf = (path: string) =>
    makeFolder(path).then(String, (error: NodeJS.ErrnoException) => error.code);

  it('makes what is missing, and says whether anything was', async () => {
    const path = join(folder, 'a', 'b', 'c');
    expect(await makeFolder(path, { mode: 0o700 })).to.equal(true);
    expect(await makeFolder(path)).to.equal(false);
    expect(await makeFolder(parse(path).root)).to.equal(false);
    for (const each of [path, join(folder, 'a')]) expect(statSync(each).mode & 0o777).to.equal(0o700);
  });

  it('makes one folder for many who want it at once', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => makeFolder(join(folder, 'a', 'b', 'c'))));
    expect(made).to.include(true);
  });

  it('ends where a folder can hold no other, and says what is in the way', async () => {
    symlinkSync(join(folder, 'nothing'), join(folder, 'link'));
    writeFileSync(join(folder, 'file'), '');
    const codes = [
      [join(folder, 'link', 'a', 'b'), 'EEXIST'],
      [join(folder, 'file'), 'EEXIST'],
      [join(folder, 'file', 'a'), 'ENOTDIR'],
      [join(folder, 'a'.repeat(300)), 'ENAMETOOLONG'],
    ] as [string, string][];
    if (process.platform === 'linux') codes.push(['/proc/nope', 'ENOENT'], ['/proc/nope/a/b', 'ENOENT']);
    for (const [path, code] of codes) expect(await codeOf(path), path).to.equal(code);
  });
});

describe('writeProblem', () => {
  const problemOf = (code: string) =>
    writeProblem(Object.assign(new Error(`${code}: in other words`), { code }), '/a/b');

  it('names the place and the reason, whatever the reason is', () => {
    const codes = ['ENOENT', 'EISDIR', 'ENOTDIR', 'EEXIST', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT', 'EROFS'];
    for (const code of [...codes, 'ENAMETOOLONG'])
      expect(problemOf(code))
        .to.match(/\/a(\/b)?\b/)
        .and.not.contain(code);
    expect(problemOf('EIO')).to.equal('/a/b: EIO: in other words');
    expect(problemOf('EROFS')).to.equal('/a is on a disk that can only be read');
  });
});
