import { setImmediate as turn } from 'node:timers/promises';
import { slices } from './slices.js';

/** What one turn of the event loop sorts, merges or visits: about a millisecond. */
const aTurn = 2_000;

/**
 * A sorted copy. Of many items it gives the event loop back again and again, where `sort` would hold it for tens of
 * milliseconds: runs of `aTurn` are sorted one by one and then merged in pairs (merge sort from the bottom up).
 */
export async function sortInTurns<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  let runs: T[][] = [];
  for (const part of slices(items, aTurn)) {
    runs.push(part.sort(compare));
    if (items.length > aTurn) await turn();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (const [one = [], other = []] of slices(runs, 2)) merged.push(await merge(one, other, compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Does something with each item, and gives the event loop back again and again. */
export async function visitInTurns<T>(items: Iterable<T>, visit: (item: T) => void): Promise<void> {
  let visited = 0;
  for (const item of items) {
    visit(item);
    visited += 1;
    if (visited % aTurn === 0) await turn();
  }
}

async function merge<T>(one: T[], other: T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const merged: T[] = [];
  let [left, right] = [0, 0];
  while (left < one.length || right < other.length) {
    const [a, b] = [one[left] as T, other[right] as T];
    const takeLeft = right >= other.length || (left < one.length && compare(a, b) <= 0);
    merged.push(takeLeft ? a : b);
    if (takeLeft) left += 1;
    else right += 1;
    if (merged.length % aTurn === 0) await turn();
  }
  return merged;
}
