import { findChanges } from './changes.js';
import { formatHunks } from './hunks.js';
import { splitLines } from './lines.js';
import { numberLines } from './numbers.js';

export interface DiffOptions {
  /** Unchanged lines around a change, from 0. */
  context: number;
  /** A complete patch with file headers, every no-newline marker and a final newline, in place of bare hunks. */
  patch: boolean;
}

/**
 * The unified diff from `a` to `b`, `''` for equal texts. Lines end at `\n` only. Without `patch`, lines compare by
 * their content where neither text ends in a newline, so that `one` → `one\ntwo` is one added line.
 */
export function diffTexts(a: string, b: string, { context, patch }: DiffOptions): string {
  if (a === b) return '';
  const byContent = !patch && !a.endsWith('\n') && !b.endsWith('\n');
  const sides = { a: splitLines(byContent ? terminate(a) : a), b: splitLines(byContent ? terminate(b) : b) };
  const { left, right, distinct } = numberLines(sides.a, sides.b);
  const hunks = formatHunks(sides, findChanges(left, right, distinct), context);
  return patch ? `--- a/text\n+++ b/text\n${hunks}` : hunks.slice(0, -1);
}

function terminate(text: string): string {
  return text === '' ? '' : `${text}\n`;
}
