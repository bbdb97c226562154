import type { Change } from './change.js';
import type { Lines } from './lines.js';

export interface Sides {
  a: Lines;
  b: Lines;
}

/**
 * Unified hunks in the form of GNU diff, every line of them ended by a newline. More than twice `context` unchanged
 * lines between two changes part them into two hunks; a line that ends its text without a newline is followed by
 * the marker for that. Own code because the package `diff` makes hunks of its own search only.
 */
export function formatHunks(sides: Sides, changes: Change[], context: number): string {
  const parts: string[] = [];
  for (const group of groupChanges(changes, context)) formatHunk(parts, sides, group, context);
  return parts.join('');
}

function groupChanges(changes: Change[], context: number): Change[][] {
  const groups: Change[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const change of changes) {
    if (change.aStart - end > 2 * context) groups.push([]);
    groups.at(-1)?.push(change);
    end = change.aEnd;
  }
  return groups;
}

function formatHunk(parts: string[], { a, b }: Sides, changes: Change[], context: number): void {
  const first = changes[0] as Change;
  const last = changes.at(-1) as Change;
  const before = Math.min(context, first.aStart);
  const after = Math.min(context, a.count - last.aEnd);
  const oldRange = formatRange(first.aStart - before, last.aEnd + after);
  const newRange = formatRange(first.bStart - before, last.bEnd + after);
  parts.push(`@@ -${oldRange} +${newRange} @@\n`);
  let at = first.aStart - before;
  for (const change of changes) {
    pushLines(parts, ' ', a, at, change.aStart);
    pushLines(parts, '-', a, change.aStart, change.aEnd);
    pushLines(parts, '+', b, change.bStart, change.bEnd);
    at = change.aEnd;
  }
  pushLines(parts, ' ', a, at, at + after);
}

/** Counted from 1, a count of 1 left out; an empty range names the line before it, 0 at the start of the text. */
function formatRange(start: number, end: number): string {
  const count = end - start;
  if (count === 0) return `${start},0`;
  return count === 1 ? `${start + 1}` : `${start + 1},${count}`;
}

function pushLines(parts: string[], sign: string, { text, starts }: Lines, start: number, end: number): void {
  if (start === end) return;
  const lines = text.slice(starts[start], starts[end]);
  const ended = lines.endsWith('\n');
  const inner = ended ? lines.slice(0, -1) : lines;
  parts.push(sign, inner.replaceAll('\n', `\n${sign}`), ended ? '\n' : '\n\\ No newline at end of file\n');
}
