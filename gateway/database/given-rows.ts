import { type RawBuilder, sql } from 'kysely';
import type { DatabaseKind } from './access.js';

/**
 * Rows as a table `given` with one column `value`, to be taken apart by `value ->> 0` and so on: one parameter, however many they
 * are. A list of as many values takes both the statement's builder and SQLite's parser longer than the rows take to write.
 */
export function givenRows(
  kind: DatabaseKind,
  rows: readonly (string | number | null)[][],
): RawBuilder<unknown> {
  const json = JSON.stringify(rows);
  return kind === 'postgres'
    ? sql`jsonb_array_elements(cast(${json} as jsonb)) as given(value)`
    : sql`json_each(${json}) as given`;
}
