import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { skipWithout } from '../../../needs.js';
import { countEdits, diff } from './diff.js';

// Few different lines, so that texts have much in common; unicode as whole characters, since files hold UTF-8.
const line = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'b',
    'c',
    ' ',
    '\r',
    'x\r',
    '\0',
    'é',
    '日本',
    '😀',
    '\\ No newline at end of file',
  ),
  fc.constantFrom('--- a/text', '+++ b/text', '@@ -1 +1 @@', '-', '+', '\u2028', '\ufeff'),
);
const text = fc
  .tuple(fc.array(line, { maxLength: 14 }), fc.boolean())
  .map(([lines, ended]) => lines.join('\n') + (ended ? '\n' : ''));
const context = fc.integer({ min: 0, max: 4 });

describe('text/diff-two-strings, beside its peers', () => {
  let folder = '';
  const inFolder = (name: string) => join(folder, name);
  const run = (command: string, ...args: string[]) => {
    // Without the ceiling git would look for a repository above the folder and read paths against its root.
    const env = {
      ...process.env,
      LC_ALL: 'C',
      GIT_CEILING_DIRECTORIES: tmpdir(),
      GIT_CONFIG_GLOBAL: '/dev/null',
    };
    return spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' });
  };

  function needs(context: Mocha.Context, command: string): void {
    if (run(command, '--version').status !== 0) skipWithout(context, command);
  }

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'diff-peers-'));
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  function expectPatched(a: string, b: string, lines: number, command: string, ...args: string[]): void {
    writeFileSync(inFolder('text'), a);
    writeFileSync(inFolder('change.patch'), diff(a, b, { patch: true, context: lines }));
    const { status, stdout, stderr } = run(command, ...args);
    expect(status, stdout + stderr).to.equal(0);
    expect(readFileSync(inFolder('text'), 'utf8')).to.equal(b);
  }

  it('is applied by GNU patch to give exactly the new text', function () {
    needs(this, 'patch');
    fc.assert(
      fc.property(text, text, context, (a, b, lines) => {
        fc.pre(a !== b);
        expectPatched(a, b, lines, 'patch', '--batch', '--fuzz=0', '-p1', '-i', 'change.patch');
      }),
      { numRuns: 150 },
    );
  });

  it('is applied by git apply to give exactly the new text', function () {
    needs(this, 'git');
    fc.assert(
      fc.property(text, text, context, (a, b, lines) => {
        fc.pre(a !== b);
        const zero = lines === 0 ? ['--unidiff-zero'] : [];
        expectPatched(a, b, lines, 'git', 'apply', '--whitespace=nowarn', ...zero, 'change.patch');
      }),
      { numRuns: 150 },
    );
  });

  it('has as few edits as GNU diff', function () {
    needs(this, 'diff');
    fc.assert(
      fc.property(text, text, (a, b) => {
        writeFileSync(inFolder('a'), a);
        writeFileSync(inFolder('b'), b);
        const peer = run('diff', '--text', '--minimal', '-U0', 'a', 'b').stdout;
        const own = diff(a, b, { patch: true, context: 0 });
        expect(countEdits(own)).to.equal(countEdits(peer));
      }),
      { numRuns: 150 },
    );
  });
});
