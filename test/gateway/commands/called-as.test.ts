import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { calledAs } from '../../../gateway/commands/called-as.js';

describe('hints of the command line', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'called-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** As npx lays out what it keeps, with its note beside it. */
  async function kept(note: string): Promise<string> {
    const home = join(folder, '_npx', '1483d3c0');
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'package.json'), note);
    return calledAs(
      pathToFileURL(join(home, 'node_modules', 'helper-gateway', 'dist', 'gateway', 'x.js')).href,
    );
  }

  it('name the command as it is in a checkout', () => {
    expect(calledAs()).to.equal('npx helper-gateway');
  });

  it('name it so where the package is installed', () => {
    const file = join(folder, 'node_modules', 'helper-gateway', 'dist', 'gateway', 'x.js');
    expect(calledAs(pathToFileURL(file).href)).to.equal('npx helper-gateway');
  });

  it('name the tarball where that is what npx was asked for', async () => {
    expect(await kept('{"_npx":{"packages":["./helper-gateway-1.0.0.tgz"]}}')).to.equal(
      'npx ./helper-gateway-1.0.0.tgz',
    );
  });

  for (const note of ['{}', '{"_npx":{}}', '{', 'null']) {
    it(`do without what npx notes, should it be ${note}`, async () => {
      expect(await kept(note)).to.equal('npx helper-gateway');
    });
  }
});
