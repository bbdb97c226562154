import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { fixture } from '../../../fixtures.js';

const compiler = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin',
  'tsc',
);

/** What the compiler says of the plugins in the fixture, as their authors read it. */
function compile(): Promise<string> {
  const args = [compiler, '-p', fixture('contract'), '--pretty', 'false', '--extendedDiagnostics'];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: fixture('contract') }, (_, stdout) => resolve(stdout));
  });
}

describe('the compiler, for an author', () => {
  let said = '';
  before(async function () {
    this.timeout(300_000);
    said = await compile();
  });

  it('points at a misspelt keyword and says what was meant', () => {
    expect(said).to.match(
      /^misspelt\.ts\(9,33\): error .*'minimun' does not exist in type 'Schema'\. Did you mean to write 'minimum'\?$/m,
    );
  });

  it('finds nothing else: a plugin in JavaScript is known as well, and so is one of sixty parameters', () => {
    expect(said.match(/^\S+\(\d+,\d+\): error/gm)).to.have.lengthOf(1);
  });

  it('has little to do, also for many parameters', () => {
    const instantiations = Number(/^Instantiations:\s+(\d+)$/m.exec(said)?.[1]);
    expect(instantiations).to.be.above(1000).and.below(100_000);
  });
});
