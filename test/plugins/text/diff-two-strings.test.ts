import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { isShort, numberLines, splitLines } from '../../../plugins/text/diff-two-strings/diff.js';
import plugin from '../../../plugins/text/diff-two-strings/index.js';
import {
  createMiddleFinder,
  type FindMiddle,
  markShortest,
} from '../../../plugins/text/diff-two-strings/search.js';
import { ownCpuMs } from '../../bench/measure.js';
import { skipWithout } from '../../needs.js';
import { callContext } from '../call-context.js';

/** Calls the helper as the gateway does, defaults filled in. */
function diff(a: string, b: string, options: { context?: number; patch?: boolean } = {}): string {
  const input = { a, b, context: 3, patch: false, ...options };
  const result = plugin.handler(input, callContext('text/diff-two-strings'));
  return (result as { diff: string }).diff;
}

/** Removed and added lines of a diff without file headers. */
function countEdits(text: string): number {
  return text.split('\n').filter((line) => /^[-+]/.test(line)).length;
}

const hunkHeader = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/;

/** Applies bare hunks to lines, trusting nothing: positions, counts and every old line are checked. */
function applyHunks(lines: string[], diff: string): string[] {
  const result: string[] = [];
  let at = 0;
  for (const hunk of diff === '' ? [] : diff.split(/\n(?=@@ )/)) {
    const [header = '', ...body] = hunk.split('\n');
    const [, oldStart, oldCount = '1', newStart, newCount = '1'] = hunkHeader.exec(header) ?? [];
    const without = (mark: string) => body.filter((line) => line[0] !== mark).map((line) => line.slice(1));
    const [old, fresh] = [without('+'), without('-')];
    const from = Number(oldStart) - (old.length > 0 ? 1 : 0);
    if (!(from >= at)) throw new Error('no hunk header, or hunks overlap');
    while (at < from) result.push(lines[at++] as string);
    if (result.length !== Number(newStart) - (fresh.length > 0 ? 1 : 0)) throw new Error('wrong start');
    if (old.length !== Number(oldCount) || fresh.length !== Number(newCount)) throw new Error('wrong count');
    for (const line of old) if (lines[at++] !== line) throw new Error(`unexpected old line: ${line}`);
    for (const line of fresh) result.push(line);
  }
  return result.concat(lines.slice(at));
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('');

describe('text/diff-two-strings', () => {
  const changed = numbered(9).replace('5\n', 'five\n');
  const noNewline = '\\ No newline at end of file';
  type Example = [a: string, b: string, expected: string, options?: { context?: number; patch?: boolean }];
  const none = { context: 0 };
  const patch = { patch: true };
  const examples: Record<string, Example[]> = {
    'shows a changed line with its context': [
      ['one\ntwo\nthree\n', 'one\n2\nthree\n', '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three'],
    ],
    'answers equal texts with an empty string': [
      ['', '', ''],
      ['same\n', 'same\n', ''],
      ['same', 'same', '', patch],
    ],
    'shows three lines of context, or as many as are asked for': [
      [numbered(9), changed, '@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8'],
      [numbered(9), changed, '@@ -5 +5 @@\n-5\n+five', none],
      [numbered(9), changed, '@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6', { context: 1 }],
      ['1\n2', '1\ntwo', '@@ -1,2 +1,2 @@\n 1\n-2\n+two', { context: 1000 }],
    ],
    'leaves a count of one out': [['a\n', 'b\n', '@@ -1 +1 @@\n-a\n+b']],
    'names the line before an empty range': [
      ['a\nb\n', 'a\nx\nb\n', '@@ -1,0 +2 @@\n+x', none],
      ['a\nx\nb\n', 'a\nb\n', '@@ -2 +1,0 @@\n-x', none],
    ],
    'counts from 0 where one text is empty': [
      ['', 'a\nb\n', '@@ -0,0 +1,2 @@\n+a\n+b'],
      ['a\n', '', '@@ -1 +0,0 @@\n-a'],
      ['', '\n', '@@ -0,0 +1 @@\n+'],
    ],
    'compares lines by content where neither text ends in a newline': [
      ['one', 'one\ntwo', '@@ -1 +1,2 @@\n one\n+two'],
      ['', 'one', '@@ -0,0 +1 @@\n+one'],
    ],
    'marks a missing final newline where only the other text, which has lines, has one': [
      ['one\n', 'one', `@@ -1 +1 @@\n-one\n+one\n${noNewline}`],
      ['one', 'one\ntwo\n', `@@ -1 +1,2 @@\n-one\n${noNewline}\n+one\n+two`],
      ['', 'one\n', '@@ -0,0 +1 @@\n+one'],
      ['one', '', '@@ -1 +0,0 @@\n-one'],
    ],
    'ends lines at \\n only': [
      ['a\r\n', 'a\n', '@@ -1 +1 @@\n-a\r\n+a'],
      ['a\rb\u2028c\u0085d', 'x', '@@ -1 +1 @@\n-a\rb\u2028c\u0085d\n+x'],
    ],
    'keeps NUL characters, lone surrogates and lines that look like a diff': [
      ['\0\n', '\ud800\n', '@@ -1 +1 @@\n-\0\n+\ud800'],
      ['--- a\n@@ -1 +1 @@\n', '+++ b\n@@ -1 +1 @@\n', '@@ -1,2 +1,2 @@\n---- a\n++++ b\n @@ -1 +1 @@'],
    ],
    'adds headers, every marker and a final newline for a patch': [
      [
        'one',
        'one\ntwo',
        `--- a/text\n+++ b/text\n@@ -1 +1,2 @@\n-one\n${noNewline}\n+one\n+two\n${noNewline}\n`,
        patch,
      ],
      [
        'one\ntwo',
        '1\ntwo',
        `--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n${noNewline}\n`,
        patch,
      ],
    ],
    'distinguishes lines that are names of object properties': [
      ['__proto__\ntoString\n', 'toString\n', '@@ -1,2 +1 @@\n-__proto__\n toString'],
    ],
    'puts an added block together where the text repeats': [
      ['x\np\nn\n', 'n\nx\nx\np\n', '@@ -0,0 +1,2 @@\n+n\n+x\n@@ -3 +4,0 @@\n-n', none],
    ],
  };
  for (const [title, all] of Object.entries(examples)) {
    it(title, () => {
      for (const [a, b, expected, options] of all) expect(diff(a, b, options)).to.equal(expected);
    });
  }

  it('splits hunks at more than twice the context of unchanged lines', () => {
    const hunks = (count: number, context: number) =>
      diff(`a\n${numbered(count)}b`, `A\n${numbered(count)}B`, { context }).match(/^@@/gm)?.length;
    expect([hunks(6, 3), hunks(7, 3), hunks(1, 0), hunks(0, 0)]).to.deep.equal([1, 2, 2, 1]);
  });

  it('puts an added function together, not the end of one before and the beginning of its own', () => {
    const block = (name: string) => `${name} {\n  body\n}\n\n`;
    const [a, b, c] = ['a', 'b', 'c'].map(block);
    expect(diff(`0\n${a}${c}0\n`, `1\n${a}${b}${c}1\n`, none)).to.contain('\n+b {\n+  body\n+}\n+\n@@');
  });
});

describe('text/diff-two-strings, hunks applied', () => {
  const line = fc.oneof(
    fc.constantFrom('', 'a', 'b', 'c', '\r', '+', '-', '@@'),
    fc.string({ maxLength: 3 }),
  );
  const lines = fc.array(
    line.map((text) => text.replaceAll('\n', '')),
    { maxLength: 30 },
  );
  // Both texts end in a newline, so that no marker is in the way; the peers check those.
  const text = (content: string[]) => content.map((one) => `${one}\n`).join('');

  it('give the new text with any context, also for a few edits of a long one', () => {
    const edits = fc.array(fc.tuple(fc.nat(199), fc.nat(3), lines), { maxLength: 6 });
    const letter = fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e');
    const long = fc.array(letter, { minLength: 200, maxLength: 200 });
    const edited = fc.tuple(long, edits).map(([a, changes]) => {
      const b = a.slice();
      for (const [at, count, inserted] of changes) b.splice(at, count, ...inserted);
      return [a, b] as const;
    });
    fc.assert(
      fc.property(fc.oneof(fc.tuple(lines, lines), edited), fc.nat(5), ([a, b], context) => {
        expect(applyHunks(a, diff(text(a), text(b), { context }))).to.deep.equal(b);
      }),
      { numRuns: 700 },
    );
  });
});

describe('text/diff-two-strings, on the main thread', () => {
  /**
   * Work that the search for a diff on the main thread may take, counted within a factor of two. A unit was measured at 1 to 2.5 ns,
   * so that this is at most 0.4 ms; numbering 8,000 lines and writing them out takes as much again.
   */
  const mostWork = 160_000;

  /** What the search takes on two texts: for each call the least allowance, doubled until it suffices. */
  function workOf(a: string, b: string): number {
    const { left, right } = numberLines(splitLines(a), splitLines(b));
    const find = createMiddleFinder(left.length + right.length);
    let work = 0;
    const counting: FindMiddle = (one, other, range) => {
      for (let allowance = 64; ; allowance *= 2) {
        const middle = find(one, other, range, allowance);
        if (!middle) continue;
        work += allowance;
        return middle;
      }
    };
    const sides = [left, right].map((lines) => ({ lines, changed: new Uint8Array(lines.length) }));
    const range = { aStart: 0, aEnd: left.length, bStart: 0, bEnd: right.length };
    markShortest(sides[0] as (typeof sides)[0], sides[1] as (typeof sides)[0], range, counting, 64);
    return work;
  }

  const lines = (vocabulary: string[], count: number) =>
    fc
      .array(fc.constantFrom(...vocabulary), { minLength: count, maxLength: count })
      .map((content) => content.map((line) => `${line}\n`).join(''));
  /** As many lines as the rule lets through, in every proportion, of few different ones or of many. */
  const shape = fc
    .tuple(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 100 }))
    .chain(([count, vocabulary]) => {
      const names = Array.from({ length: vocabulary }, (_, at) => String.fromCodePoint(0x4e00 + at));
      const others = Math.max(0, Math.min(4000 - count, Math.floor(10_000 / (count + 1)) - 1));
      const one = lines(names, count);
      const other = lines(names, others);
      return fc.boolean().chain((swapped) => (swapped ? fc.tuple(other, one) : fc.tuple(one, other)));
    });

  it('takes little work for what it takes on', () => {
    fc.assert(
      fc.property(shape, ([a, b]) => {
        fc.pre(isShort({ a, b }));
        expect(workOf(a, b)).to.be.at.most(mostWork);
      }),
      { numRuns: 150 },
    );
  });

  it('takes little work for the shapes that cost most', () => {
    const many = (count: number, line: (at: number) => string) =>
      Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('');
    const hostile: [string, string][] = [
      [many(99, (at) => `${at}`), many(99, (at) => `${98 - at}`)],
      [many(99, (at) => `${at}`), many(99, (at) => `${(at * 37) % 99}`)],
      [many(99, (at) => 'ab'[at % 2] as string), many(99, (at) => 'ab'[(at >> 1) % 2] as string)],
      [many(1900, (at) => 'ab'[at % 2] as string), 'a\nb\nb\na\n'],
      [many(1900, () => 'a'), 'b\na\nb\na\n'],
      ['\n'.repeat(7_998), 'x'],
      ['\n'.repeat(8_000), ''],
      ['😀'.repeat(2_000), '\ud83d'.repeat(4_000)],
    ];
    for (const [a, b] of hostile) {
      expect(isShort({ a, b })).to.equal(true);
      expect(workOf(a, b)).to.be.at.most(mostWork);
      expect(workOf(b, a)).to.be.at.most(mostWork);
    }
  });

  for (const [what, is, a, b] of [
    ['texts', true, 'x'.repeat(4_000), 'y'.repeat(4_000)],
    ['long texts', false, 'x'.repeat(4_001), 'y'.repeat(4_000)],
    ['short lines', true, 'x\n'.repeat(99), 'y\n'.repeat(99)],
    ['many short lines', false, 'x\n'.repeat(166), 'y\n'.repeat(166)],
    ['what ends no line', true, 'x\r\u2028'.repeat(1000), 'y\r\u2029'.repeat(1000)],
    ['lines with the one after the last newline', false, 'x\r\n'.repeat(100), 'y\r\n'.repeat(100)],
  ] as const) {
    it(`${is ? 'takes on' : 'leaves to a worker'} ${what}`, () => expect(isShort({ a, b })).to.equal(is));
  }
});

describe('text/diff-two-strings, past the bound of its search', () => {
  /** Lines from a fixed sequence (a linear congruential generator), so that a failure can be repeated. */
  function randomLines(count: number, vocabulary: number, seed: number): string[] {
    let state = seed;
    return Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return `${(state >>> 8) % vocabulary}`;
    });
  }

  const text = (lines: string[]) => lines.map((line) => `${line}\n`).join('');

  function expectApplies(a: string[], b: string[]): number {
    const result = diff(text(a), text(b));
    expect(applyHunks(a, result).join('\n') === b.join('\n')).to.equal(true);
    return countEdits(result);
  }

  let began: number;

  beforeEach(() => {
    began = ownCpuMs();
  });

  // A search without a bound would take minutes on most of these.
  afterEach(() => expect(ownCpuMs() - began).to.be.below(20_000));

  it('stays right on texts without a common line, and short on those of ten different lines', () => {
    const lines = (letter: string) => Array.from({ length: 5000 }, (_, index) => `${letter}${index}`);
    expect(expectApplies(lines('a'), lines('b'))).to.equal(10_000);
    const [a, b] = [randomLines(10_000, 10, 1), randomLines(10_000, 10, 2)];
    expect(expectApplies(a, b)).to.be.below(13_000);
    expect(diff(text(a), text(b))).to.equal(diff(text(a), text(b)));
  });

  it('stays right on hundreds of thousands of lines, and on a megabyte of newlines', () => {
    expectApplies(randomLines(200_000, 2, 3), randomLines(200_000, 2, 4));
    expectApplies(Array(500_000).fill(''), Array(250_000).fill('a'));
  });

  it('stays in step with scattered edits', () => {
    const a = randomLines(20_000, 10, 5);
    const b = a.map((line, index) => (index % 10 === 3 ? 'edited' : line));
    b.splice(7000, 40);
    b.splice(12_000, 0, ...randomLines(60, 10, 6));
    expect(expectApplies(a, b)).to.be.below(4500);
  });

  it('finds its way by lines that both texts have once', () => {
    const part = (index: number, seed: number) => [`part ${index}`, ...randomLines(60, 5, seed)];
    const a = Array.from({ length: 150 }, (_, index) => part(index, 7 + index));
    const b = a.map((lines, index) => (index % 3 === 0 ? part(index, 1000 + index) : lines));
    const edits = expectApplies(a.flat(), [...part(999, 6), ...b.flat()]);
    expect(edits).to.be.below(5000);
  });

  it('stays right where every path has long common stretches', () => {
    const noise = (seed: number) => randomLines(600, 3, seed);
    const same = Array(100_000).fill('x');
    expectApplies([...noise(8), ...same, ...noise(9)], [...noise(10), ...same, ...noise(11)]);
  });

  it('stays shortest where one text is short beside the other', () => {
    const few = ['a', 'b', 'b', 'a'];
    const many = Array.from({ length: 40_000 }, (_, index) => 'abc'[index % 3] as string);
    expect(expectApplies(many, few)).to.equal(39_996);
    expect(expectApplies(few, many)).to.equal(39_996);
  });
});

describe('text/diff-two-strings, beside its peers', () => {
  // Few different lines, so that texts have much in common; unicode as whole characters, since files hold UTF-8.
  const line = fc.constantFrom(
    ...['', 'a', 'b', 'c', ' ', '\r', 'x\r', '\0', 'é', '日本', '😀', '\\ No newline at end of file'],
    ...['--- a/text', '+++ b/text', '@@ -1 +1 @@', '-', '+', '\u2028', '\ufeff'],
  );
  const text = fc
    .tuple(fc.array(line, { maxLength: 14 }), fc.boolean())
    .map(([lines, ended]) => lines.join('\n') + (ended ? '\n' : ''));
  const context = fc.integer({ min: 0, max: 4 });

  let folder = '';
  const inFolder = (...path: string[]) => join(folder, ...path);
  // Without the ceiling git would look for a repository above the folder and read paths against its root.
  const git = { GIT_CEILING_DIRECTORIES: tmpdir(), GIT_CONFIG_GLOBAL: '/dev/null' };
  const env = { ...process.env, LC_ALL: 'C', ...git };
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' });

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

  // Without context git takes a line for one like it that has no newline, in its own patches too.
  const applicable = change.filter(({ a, lines }) => lines > 0 || a === '' || a.endsWith('\n'));
  for (const [peer, changes, command] of [
    ['patch', change, 'patch --batch --fuzz=0 -p1 -i change.patch'],
    ['git', applicable, 'git apply --whitespace=nowarn $(cat options) change.patch'],
  ] as const) {
    it(`is applied by ${peer} to give exactly the new text`, function () {
      needs(this, peer);
      fc.assert(
        fc.property(several(changes), (all) => expectPatched(all, command)),
        runs,
      );
    }).timeout(30_000);
  }

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
