import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { skipWithout } from '../../needs.js';
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
  const inFolder = (...path: string[]) => join(folder, ...path);
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

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'diff-peers-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Makes a folder of each case, and has one shell go through them: it starts a peer much faster than this process does. */
  function inEach<Case>(cases: readonly Case[], prepare: (each: Case, at: string) => void, command: string) {
    for (const [at, each] of cases.entries()) {
      mkdirSync(inFolder(`${at}`), { recursive: true });
      prepare(each, `${at}`);
    }
    const loop = `at=0; while [ $at -lt ${cases.length} ]; do (cd $at; ${command}) >$at/said 2>&1; echo $?; at=$((at+1)); done`;
    const statuses = run('sh', '-c', loop).stdout.trim().split('\n').map(Number);
    return cases.map((each, at) => ({
      each,
      status: statuses[at],
      said: readFileSync(inFolder(`${at}`, 'said'), 'utf8'),
      read: (name: string) => readFileSync(inFolder(`${at}`, name), 'utf8'),
    }));
  }

  type Change = { a: string; b: string; lines: number };

  function expectPatched(changes: readonly Change[], command: string): void {
    const prepare = ({ a, b, lines }: Change, at: string) => {
      writeFileSync(inFolder(at, 'text'), a);
      writeFileSync(inFolder(at, 'change.patch'), diff(a, b, { patch: true, context: lines }));
      // What a case says of itself; to git a change without context has to be named so.
      writeFileSync(inFolder(at, 'options'), lines === 0 ? '--unidiff-zero' : '');
    };
    for (const { each, status, said, read } of inEach(changes, prepare, command)) {
      expect(status, `${JSON.stringify(each)}: ${said}`).to.equal(0);
      expect(read('text')).to.equal(each.b);
    }
  }

  /** As many cases as one shell goes through; with the runs, 150 each. */
  const atOnce = 30;
  const runs = { numRuns: 5 };
  const several = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: atOnce, maxLength: atOnce });
  const change = fc.record({ a: text, b: text, lines: context }).filter(({ a, b }) => a !== b);

  it('is applied by GNU patch to give exactly the new text', function () {
    needs(this, 'patch');
    fc.assert(
      fc.property(several(change), (changes) =>
        expectPatched(changes, 'patch --batch --fuzz=0 -p1 -i change.patch'),
      ),
      runs,
    );
  });

  it('is applied by git apply to give exactly the new text', function () {
    needs(this, 'git');
    // Without context git takes a line for one like it that has no newline, in its own patches too.
    const applicable = change.filter(({ a, lines }) => lines > 0 || a === '' || a.endsWith('\n'));
    fc.assert(
      fc.property(several(applicable), (changes) =>
        expectPatched(changes, 'git apply --whitespace=nowarn $(cat options) change.patch'),
      ),
      runs,
    );
  }).timeout(30_000);

  it('has as few edits as GNU diff', function () {
    needs(this, 'diff');
    const pair = fc.record({ a: text, b: text });
    fc.assert(
      fc.property(several(pair), (pairs) => {
        const prepare = ({ a, b }: { a: string; b: string }, at: string) => {
          writeFileSync(inFolder(at, 'a'), a);
          writeFileSync(inFolder(at, 'b'), b);
        };
        for (const { each, said } of inEach(pairs, prepare, 'diff --text --minimal -U0 a b')) {
          const own = diff(each.a, each.b, { patch: true, context: 0 });
          expect(countEdits(own)).to.equal(countEdits(said));
        }
      }),
      runs,
    );
  });
});
