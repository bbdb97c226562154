import { readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second, whatever the processor: a round has to last for a good many of them. */
const tickMs = 10;

/** Milliseconds of processor time of this process, all its threads. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of processor time of another process, all its threads. */
export function cpuMsOf(pid: number): number {
  // The second field is the program's name, in brackets, and may itself have blanks and brackets in it.
  const [, rest = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Milliseconds of processor time of a process's main thread: on a busy machine the clock tells how long others ran. Linux only. */
export function mainThreadMs(pid = process.pid): number {
  const schedule = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1');
  return Number(schedule.split(' ')[0]) / 1e6;
}

/** One of those that are compared. */
export interface Contender {
  /** Does the same piece of work so many times. */
  work(pieces: number): Promise<void>;
  /** Milliseconds of processor time that the work has taken so far, of whatever process does it. */
  cpuMs(): number;
}

/** Medians over the rounds, of one piece. */
interface Cost {
  cpuMs: number;
  /** By the clock; means something only on a machine with nothing else to do. */
  perSecond: number;
}

type Turn = { contender: Contender; pieces: number; seen: Cost[] };

/** Of what was tried first, a turn has at most so many times as much: that was slow, as V8 had still to compile. */
const most = 50;

/**
 * Lets the contenders work in turns, so that whatever else the machine does befalls all of them alike. A turn is as many pieces as take
 * about `turnMs` of processor time, `fewest` at least: so many have to cost more than the clock's step. Each second round goes backwards; the first one, in which V8 still compiles, is not counted.
 */
export async function inTurns<const Contenders extends readonly Contender[]>(
  contenders: Contenders,
  { turnMs = 300, rounds = 5, fewest = 4 } = {},
): Promise<{ -readonly [At in keyof Contenders]: Cost }> {
  const turns: Turn[] = [];
  for (const contender of contenders) {
    turns.push({ contender, pieces: await sizeTurn(contender, turnMs, fewest), seen: [] });
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const { contender, pieces, seen } of round % 2 === 0 ? turns : turns.toReversed()) {
      const cost = await takeTurn(contender, pieces);
      if (round > 0) seen.push(cost);
    }
  }
  const costs = turns.map(({ seen }) => ({
    cpuMs: median(seen.map(({ cpuMs }) => cpuMs)),
    perSecond: median(seen.map(({ perSecond }) => perSecond)),
  }));
  return costs as { -readonly [At in keyof Contenders]: Cost };
}

async function sizeTurn(contender: Contender, turnMs: number, fewest: number): Promise<number> {
  const { cpuMs } = await takeTurn(contender, fewest);
  return Math.min(most * fewest, Math.max(fewest, Math.round(turnMs / cpuMs)));
}

async function takeTurn({ work, cpuMs }: Contender, pieces: number): Promise<Cost> {
  const [began, before] = [performance.now(), cpuMs()];
  await work(pieces);
  const seconds = (performance.now() - began) / 1000;
  return { cpuMs: (cpuMs() - before) / pieces, perSecond: pieces / seconds };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/** A figure with what must hold of it. */
export interface Goal {
  what: string;
  figure: string;
  bound: string;
  isMet: boolean;
}

/** Before the figure as '×', or after it; none for a number of things. */
type Unit = '×' | 'ms' | 'µs' | '%' | 'dB' | 'KB' | 'MB' | '';

export function atMost(bound: number, what: string, figure: number, unit: Unit): Goal {
  return { what, figure: withUnit(figure, unit), bound: `≤ ${bound}`, isMet: figure <= bound };
}

export function atLeast(bound: number, what: string, figure: number, unit: Unit): Goal {
  return { what, figure: withUnit(figure, unit), bound: `≥ ${bound}`, isMet: figure >= bound };
}

/** Lines up the columns: the first begins at the left, the others end at the right. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [heading, ...rows];
  const widths = heading.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  for (const row of all) {
    const cells = row.map((cell, at) => cell[at === 0 ? 'padEnd' : 'padStart'](widths[at] ?? 0));
    console.log(`  ${cells.join('   ').trimEnd()}`);
  }
}

/** Below an empty line, one for each figure: what it is, its goal, and last whether that was met. */
export function printGoals(goals: readonly Goal[]): void {
  console.log('');
  printTable(
    ['  goals', '', '', ''],
    goals.map(({ what, figure, bound, isMet }) => [`  ${what}`, figure, bound, isMet ? 'met' : 'missed']),
  );
}

/** `× 0.57`. */
export function ratio(ours: number, theirs: number): string {
  return `× ${(ours / theirs).toFixed(2)}`;
}

function withUnit(figure: number, unit: Unit): string {
  if (unit === '×') return `× ${figure.toFixed(2)}`;
  if (unit === '') return String(figure);
  return `${figure.toFixed(unit === 'dB' ? 2 : 1)} ${unit}`;
}
