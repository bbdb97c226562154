/** Prints what the diff of long texts costs in CPU beside GNU diff, whose start-up is taken off, and how many lines each changes. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diffTexts } from '../../plugins/text/diff-two-strings/diff.js';
import { atMost, type Goal, inTurns, ownCpuMs, printGoals, printTable, ratio } from './measure.js';

const rounds = 15;
/** CPU of GNU diff that a diff may cost at most, where the texts are long and nearly alike. */
const most = 3;

/** A linear congruential generator, so that each run has the same texts. */
let state = 1;
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at));

function edited(before: string[], edits: number, line: () => string): [string[], string[]] {
  const after = before.slice();
  for (let edit = 0; edit < edits; edit++) {
    const at = random(after.length);
    const kind = random(3);
    after.splice(at, kind === 1 ? 0 : 1, ...(kind === 0 ? [] : [line()]));
  }
  return [before, after];
}

const word = (vocabulary: number) => () => `${random(vocabulary)}`;
const numbered = lines(100_000, (at) => `${at}`);
const alike = (of: number) => edited(lines(100_000, word(of)), 1000, word(of));
const unlike = (count: number, of: number): [string[], string[]] => [
  lines(count, word(of)),
  lines(count, word(of)),
];
const cases: { name: string; texts: [string[], string[]]; near?: true }[] = [
  { name: '100,000 lines, 1,000 edits', texts: edited(numbered, 1000, word(1e6)), near: true },
  { name: '100,000 lines of 1,000 different, 1,000 edits', texts: alike(1000), near: true },
  { name: '100,000 lines of 10 different, 1,000 edits', texts: alike(10), near: true },
  { name: '1,000 lines of 1,000 different, unlike', texts: unlike(1000, 1000) },
  { name: '1,000 lines of 10 different, unlike', texts: unlike(1000, 10) },
  { name: '10,000 lines of 10 different, unlike', texts: unlike(10_000, 10) },
];

const folder = mkdtempSync(join(tmpdir(), 'bench-diff-'));
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const run = (script: string) =>
  spawnSync('sh', ['-c', script], { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 }).stdout;

/** Milliseconds of CPU that GNU diff takes a run, by the shell's account of its children. */
function measureGnu(a: string, b: string): number {
  const said = run(`n=0; while [ $n -lt ${rounds} ]; do diff -U3 ${a} ${b} >out; n=$((n+1)); done; times`);
  const children = said.trim().split('\n')[1] ?? '';
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  );
  return (seconds.reduce((sum, one) => sum + one, 0) * 1000) / rounds;
}

async function measureOwn(a: string, b: string): Promise<number> {
  const work = async (pieces: number) => {
    for (let done = 0; done < pieces; done += 1) diffTexts(a, b, { context: 3, patch: true });
  };
  const [own] = await inTurns([{ cpuMs: ownCpuMs, work }], { fewest: 1, turnMs: 100, rounds });
  return own.cpuMs;
}

const countEdits = (diff: string) => diff.split('\n').filter((line) => /^[-+](?![-+]{2} )/.test(line)).length;

try {
  const gnu = /GNU diffutils/.test(run('diff --version'));
  if (!gnu) console.log('  GNU diff is not here: own figures alone');
  write('one', 'a\n');
  write('other', 'b\n');
  const start = gnu ? measureGnu('one', 'other') : 0;
  const rows: string[][] = [];
  const goals: Goal[] = [];
  for (const { name, texts, near } of cases) {
    const [a, b] = texts.map((content) => content.map((line) => `${line}\n`).join('')) as [string, string];
    write('a', a);
    write('b', b);
    const own = await measureOwn(a, b);
    const edits = countEdits(diffTexts(a, b, { context: 0, patch: true }));
    const row = [name, own.toFixed(1), `${edits}`];
    rows.push(row);
    if (!gnu) continue;
    const theirs = measureGnu('a', 'b') - start;
    row.push(theirs.toFixed(1), `${countEdits(run('diff -U0 a b'))}`, ratio(own, theirs));
    if (near) goals.push(atMost(most, `CPU beside GNU's: ${name}`, own / theirs, '×'));
  }
  printTable(['', 'ms of CPU', 'lines', ...(gnu ? ["GNU's", 'lines', ''] : [])], rows);
  if (gnu) printGoals(goals);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
