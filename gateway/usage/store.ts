import { type Kysely, sql, type Transaction } from 'kysely';
import type { DatabaseKind } from '../database/database.js';
import type { Prune } from '../database/prune-daily.js';
import { givenRows } from '../database/rows.js';

export const dayMs = 86_400_000;

/** The UTC day of a moment (epoch milliseconds), `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** One day's sums of one tenant's key at one helper. Sums are never negative. */
export interface UsageTable {
  /** UTC, `YYYY-MM-DD`. */
  day: string;
  tenant: string;
  key_id: string;
  service: string;
  calls: number;
  /** 4xx other than 429. */
  errors_client: number;
  errors_limited: number;
  errors_server: number;
  bytes_in: number;
  bytes_out: number;
  /** Milliseconds for which calls held a worker thread. */
  cpu_ms: number;
}

export type UsageTables = { usage_daily: UsageTable };

const nameColumns = ['tenant', 'day', 'key_id', 'service'] as const satisfies (keyof UsageTable)[];

const countColumns = [
  'calls',
  'errors_client',
  'errors_limited',
  'errors_server',
  'bytes_in',
  'bytes_out',
] as const satisfies (keyof UsageTable)[];

const columns = [...nameColumns, ...countColumns, 'cpu_ms'] as const;

/** The order of the table's own key. */
export function compareUsageRows(a: UsageTable, b: UsageTable): number {
  for (const column of nameColumns) {
    if (a[column] !== b[column]) return a[column] < b[column] ? -1 : 1;
  }
  return 0;
}

const intoColumns = sql.raw(columns.join(', '));
const keyColumns = sql.raw(nameColumns.join(', '));
const values = sql.raw(
  [
    ...nameColumns.map((_, at) => `value ->> ${at}`),
    ...countColumns.map((_, at) => `cast(value ->> ${nameColumns.length + at} as bigint)`),
    `cast(value ->> ${columns.length - 1} as double precision)`,
  ].join(', '),
);
const sums = sql.raw(
  [...countColumns, 'cpu_ms'].map((sum) => `${sum} = usage_daily.${sum} + excluded.${sum}`).join(', '),
);

export async function addUsageRows(
  trx: Transaction<UsageTables>,
  kind: DatabaseKind,
  rows: UsageTable[],
): Promise<void> {
  const given = givenRows(
    kind,
    rows.map((row) => columns.map((column) => row[column])),
  );
  // `where true` shows SQLite that what follows is no join's condition.
  await sql`
    insert into usage_daily (${intoColumns}) select ${values} from ${given} where true
    on conflict (${keyColumns}) do update set ${sums}
  `.execute(trx);
}

/** Deletes figures of days before the last `days` days, today included. */
export function pruneUsage(days: number): Prune {
  return async function pruneUsage(trx, now, most) {
    const { numAffectedRows = 0n } = await sql`
      delete from usage_daily where (${keyColumns}) in
      (select ${keyColumns} from usage_daily where day <= ${dayOf(now - days * dayMs)} limit ${most})
    `.execute(trx);
    return Number(numAffectedRows);
  };
}

/** Makes the table of usage figures. No foreign keys: the figures outlive the keys and tenants that they are about. */
export async function createUsageTable(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_daily (
      tenant text not null,
      day text not null,
      key_id text not null,
      service text not null,
      calls bigint not null,
      errors_client bigint not null,
      errors_limited bigint not null,
      errors_server bigint not null,
      bytes_in bigint not null,
      bytes_out bigint not null,
      cpu_ms double precision not null,
      constraint usage_daily_pk primary key (tenant, day, key_id, service)
    )
  `.execute(db);
  await sql`create index usage_daily_day on usage_daily (day)`.execute(db);
}
