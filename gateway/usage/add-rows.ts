import { sql, type Transaction } from 'kysely';
import type { DatabaseKind } from '../database/access.js';
import { givenRows } from '../database/given-rows.js';
import type { UsageTable, UsageTables } from './tables.js';

const names = ['tenant', 'day', 'key_id', 'service'] as const satisfies (keyof UsageTable)[];

const counts = [
  'calls',
  'errors_client',
  'errors_limited',
  'errors_server',
  'bytes_in',
  'bytes_out',
] as const satisfies (keyof UsageTable)[];

const columns = [...names, ...counts, 'cpu_ms'] as const;

/** The order of the table's own key. */
export function compareRows(a: UsageTable, b: UsageTable): number {
  return (
    compare(a.tenant, b.tenant) ||
    compare(a.day, b.day) ||
    compare(a.key_id, b.key_id) ||
    compare(a.service, b.service)
  );
}

function compare(a: string, b: string): number {
  if (a < b) return -1;
  return a === b ? 0 : 1;
}

const into = sql.raw(columns.join(', '));
const key = sql.raw(names.join(', '));
const values = sql.raw(
  [
    ...names.map((_, at) => `value ->> ${at}`),
    ...counts.map((_, at) => `cast(value ->> ${names.length + at} as bigint)`),
    `cast(value ->> ${columns.length - 1} as double precision)`,
  ].join(', '),
);
const sums = sql.raw(
  [...counts, 'cpu_ms'].map((sum) => `${sum} = usage_daily.${sum} + excluded.${sum}`).join(', '),
);

/** Adds to the rows that are there. */
export async function addRows(
  trx: Transaction<UsageTables>,
  kind: DatabaseKind,
  rows: UsageTable[],
): Promise<void> {
  const given = givenRows(
    kind,
    rows.map((row) => columns.map((column) => row[column])),
  );
  // `where true` tells SQLite that what follows is no join's condition.
  await sql`
    insert into usage_daily (${into}) select ${values} from ${given} where true
    on conflict (${key}) do update set ${sums}
  `.execute(trx);
}
