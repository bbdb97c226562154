import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { DatabaseKind } from './database.js';

/** Copies of an array's parts, of `size` items each and the rest. */
export function* slices<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Items by what `keyOf` gives for them, in the order in which they come. */
export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** The most rows of one kind that a transaction writes or deletes: no other user of the database waits long for it. */
export const rowsPerTransaction = 1_000;

/** Rows as a table `given` with one column `value`, to be read by `value ->> 0`: one parameter is fastest to parse. */
export function givenRows(
  kind: DatabaseKind,
  rows: readonly (string | number | null)[][],
): RawBuilder<unknown> {
  const json = JSON.stringify(rows);
  return kind === 'postgres'
    ? sql`jsonb_array_elements(cast(${json} as jsonb)) as given(value)`
    : sql`json_each(${json}) as given`;
}

/** What one turn of the event loop sorts, merges or visits: about a millisecond. */
const itemsPerTurn = 2_000;

/** A sorted copy: runs of `itemsPerTurn` are sorted, then merged in pairs, and the event loop runs in between. */
export async function sortYielding<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  let runs: T[][] = [];
  for (const part of slices(items, itemsPerTurn)) {
    runs.push(part.sort(compare));
    if (items.length > itemsPerTurn) await nextTurn();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (const [one = [], other = []] of slices(runs, 2)) merged.push(await merge(one, other, compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Does something with each item, and gives the event loop back again and again. */
export async function visitYielding<T>(items: Iterable<T>, visit: (item: T) => void): Promise<void> {
  let visited = 0;
  for (const item of items) {
    visit(item);
    visited += 1;
    if (visited % itemsPerTurn === 0) await nextTurn();
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
    if (merged.length % itemsPerTurn === 0) await nextTurn();
  }
  return merged;
}
