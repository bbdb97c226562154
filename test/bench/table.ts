/** What must hold of a figure. */
export type Goal = { atMost: number } | { atLeast: number };

/** A figure with what must hold of it. */
export interface Judged {
  what: string;
  figure: number;
  /** Before the figure as '×', or after it; none for a number of things. */
  unit: '×' | 'ms' | '%' | 'dB' | 'MB' | '';
  goal: Goal;
}

/** Lines up the columns: the first begins at the left, the others end at the right. */
export function printTable(heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [heading, ...rows];
  const widths = heading.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  for (const row of all) {
    const cells = row.map((cell, at) =>
      at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
    );
    console.log(`  ${cells.join('   ').trimEnd()}`);
  }
}

/** A line for each figure: what it is, its goal, and last whether that was met. */
export function printGoals(judged: readonly Judged[]): void {
  const rows = judged.map(({ what, figure, unit, goal }) => [
    what,
    withUnit(figure, unit),
    'atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`,
    isMet(figure, goal) ? 'met' : 'missed',
  ]);
  printTable(
    ['  goals', '', '', ''],
    rows.map(([what, ...rest]) => [`  ${what}`, ...rest]),
  );
}

export function isMet(figure: number, goal: Goal): boolean {
  return 'atMost' in goal ? figure <= goal.atMost : figure >= goal.atLeast;
}

/** `× 0.57`. */
export function ratio(ours: number, theirs: number): string {
  return `× ${(ours / theirs).toFixed(2)}`;
}

function withUnit(figure: number, unit: Judged['unit']): string {
  if (unit === '×') return `× ${figure.toFixed(2)}`;
  if (unit === '') return String(figure);
  return `${figure.toFixed(unit === 'dB' ? 2 : 1)} ${unit}`;
}
