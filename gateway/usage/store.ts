import { type Kysely, sql, type Transaction } from 'kysely';
import type { DatabaseKind } from '../database/database.js';
import { type Prune, pruneTable } from '../database/prune-daily.js';
import { givenRows } from '../database/rows.js';
import { bucketCount } from './histogram.js';

export const dayMs = 86_400_000;

/** The UTC day of a moment (epoch milliseconds), `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

export const countColumns = [
  'calls',
  'errors_client',
  'errors_limited',
  'errors_server',
  'bytes_in',
  'bytes_out',
] as const;

/** Sums of calls, never negative. `errors_client` are 4xx other than 429; `cpu_ms` is the time for which they held a thread. */
export type Figures = Record<(typeof countColumns)[number] | 'cpu_ms', number>;

type Errors = 'errors_client' | 'errors_limited' | 'errors_server';

export const errorsOf = (sums: Pick<Figures, Errors>): number =>
  sums.errors_client + sums.errors_limited + sums.errors_server;

/** Sums with the calls counted by their duration. */
export type Sums = Figures & { buckets: number[] };

export function noSums(): Sums {
  const errors = { errors_client: 0, errors_limited: 0, errors_server: 0 };
  return {
    ...{ calls: 0, ...errors, bytes_in: 0, bytes_out: 0, cpu_ms: 0 },
    buckets: new Array<number>(bucketCount).fill(0),
  };
}

/** Adds sums to others, or with `sign` -1 takes them away. */
export function addSums(to: Sums, from: Sums, sign: 1 | -1 = 1): void {
  for (const column of [...countColumns, 'cpu_ms'] as const) to[column] += sign * from[column];
  for (const [at, count] of from.buckets.entries()) to.buckets[at] = (to.buckets[at] ?? 0) + sign * count;
}

/**
 * What each table has sums of. `usage_failures` has the calls that did not end well; so all others are `usage_daily` less these.
 * In `usage_rollup`, which knows no keys, and in `usage_failures`, an empty name stands for all of them: (tenant, day, '') and
 * ('', day, service), and of failures ('', day, '', service, code).
 */
const nameColumns = {
  usage_daily: ['tenant', 'day', 'key_id', 'service'],
  usage_failures: ['tenant', 'day', 'key_id', 'service', 'code'],
  usage_rollup: ['tenant', 'day', 'service'],
} as const;

export type UsageTableName = keyof typeof nameColumns;
type Named<Name extends UsageTableName> = Figures & Record<(typeof nameColumns)[Name][number], string>;
export type UsageTables = { [Name in UsageTableName]: Named<Name> };

/** One answered call, as the pipeline reports it. */
export interface UsageRecord {
  tenant: string;
  /** The key's id, never the key. */
  key: string;
  /** A helper's id; not a path as it was asked for, which would let a client make rows without end. */
  service: string;
  status: number;
  /** Of the error; `ok` where there is none. */
  code: string;
  /** Milliseconds from its start to the end of its answer. */
  ms: number;
  requestId: string;
  dryrun?: boolean;
  /** Bytes of the request's body, and of what was downloaded for it. */
  bytesIn: number;
  bytesOut: number;
  /** Milliseconds that the call's tasks took, as its CPU time, in a worker or here where they were short; 0 for a helper that runs inline. */
  cpuMs: number;
  /** When it was answered, epoch milliseconds; now where it is missing. */
  at?: number;
}

/** Calls of a key at a helper on a day, and those of them that failed by their error's code. */
export interface TallyRow {
  tenant: string;
  day: string;
  key: string;
  service: string;
  sums: Sums;
  failures?: Map<string, Sums>;
}

/** The order of `usage_daily`'s own key. */
export function compareUsageRows(a: TallyRow, b: TallyRow): number {
  for (const name of ['tenant', 'day', 'key', 'service'] as const) {
    if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1;
  }
  return 0;
}

/** Calls by their duration, from the shortest; null stands for 0, which so needs no space. */
export const bucketColumns = Array.from({ length: bucketCount }, (_, bucket) => `ms_${bucket}`);

const columnsOf = (table: UsageTableName) =>
  [...nameColumns[table], ...countColumns, 'cpu_ms', ...bucketColumns].join(', ');

/** Adds rows given as JSON arrays to what a table has; made once, for they are long. */
function upsertInto(table: UsageTableName) {
  const names = nameColumns[table];
  const counts = names.length;
  const cpu = counts + countColumns.length;
  const values = [
    ...names.map((_, at) => `value ->> ${at}`),
    ...countColumns.map((_, at) => `cast(value ->> ${counts + at} as bigint)`),
    `cast(value ->> ${cpu} as double precision)`,
    ...bucketColumns.map((_, at) => `nullif(cast(value ->> ${cpu + 1 + at} as bigint), 0)`),
  ];
  const sums = [
    ...[...countColumns, 'cpu_ms'].map((sum) => `${sum} = ${table}.${sum} + excluded.${sum}`),
    ...bucketColumns.map(
      (sum) => `${sum} = nullif(coalesce(${table}.${sum}, 0) + coalesce(excluded.${sum}, 0), 0)`,
    ),
  ];
  return {
    insert: sql.raw(`insert into ${table} (${columnsOf(table)}) select ${values.join(', ')} from`),
    // `where true` shows SQLite that what follows is no join's condition.
    onConflict: sql.raw(`where true on conflict (${names.join(', ')}) do update set ${sums.join(', ')}`),
  };
}

const upserts = {
  usage_daily: upsertInto('usage_daily'),
  usage_failures: upsertInto('usage_failures'),
  usage_rollup: upsertInto('usage_rollup'),
};

type SumRow = [names: string[], sums: Sums];

async function addRows(
  trx: Transaction<UsageTables>,
  kind: DatabaseKind,
  to: UsageTableName,
  rows: SumRow[],
) {
  if (rows.length === 0) return;
  const given = givenRows(
    kind,
    rows.map(([names, { buckets, cpu_ms, ...counts }]) => [
      ...names,
      ...countColumns.map((column) => counts[column]),
      cpu_ms,
      ...buckets,
    ]),
  );
  const { insert, onConflict } = upserts[to];
  await sql`${insert} ${given} ${onConflict}`.execute(trx);
}

/** Rows of the same names become one. In one order everywhere, so that two gateways never wait for each other. */
function addedUp(rows: SumRow[]): SumRow[] {
  const merged = new Map<string, SumRow>();
  for (const [names, sums] of rows) {
    const name = names.join('\n');
    let row = merged.get(name);
    if (!row) {
      row = [names, noSums()];
      merged.set(name, row);
    }
    addSums(row[1], sums);
  }
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Adds calls to all tables, in this order: gateways lock rows one after the other. `rows` are in the order of `compareUsageRows`. */
export async function addUsageRows(
  trx: Transaction<UsageTables>,
  kind: DatabaseKind,
  rows: TallyRow[],
): Promise<void> {
  const daily: SumRow[] = [];
  const failures: SumRow[] = [];
  const rollup: SumRow[] = [];
  for (const { tenant, day, key, service, sums, failures: failed = [] } of rows) {
    daily.push([[tenant, day, key, service], sums]);
    for (const [code, of] of failed) {
      failures.push([[tenant, day, key, service, code], of], [['', day, '', service, code], of]);
    }
    rollup.push([[tenant, day, service], sums], [[tenant, day, ''], sums], [['', day, service], sums]);
  }
  await addRows(trx, kind, 'usage_daily', daily);
  await addRows(trx, kind, 'usage_failures', addedUp(failures));
  await addRows(trx, kind, 'usage_rollup', addedUp(rollup));
}

/** Deletes figures of days before the last `days` days, today included. */
export function pruneUsage(days: number): Prune[] {
  return Object.entries(nameColumns).map(([table, names]) =>
    pruneTable(table, names.join(', '), (now) => sql`day <= ${dayOf(now - days * dayMs)}`),
  );
}

/** Makes a day's rollup anew, for gateways of before it; for a day that is over, as it loses what is added at that moment. */
async function rollUp(db: Kysely<unknown>, day: string, buckets = bucketColumns): Promise<void> {
  const columns = [...countColumns, 'cpu_ms', ...buckets];
  const names = nameColumns.usage_rollup.join(', ');
  const parts = ['tenant, day, service', "tenant, day, ''", "'', day, service"].map((part) => {
    const group = part.replace(/'', |, ''/, '');
    const sums = columns.map((column) => `sum(${column})`).join(', ');
    return sql`${sql.raw(`select ${part}, ${sums} from usage_daily where day =`)} ${day} ${sql.raw(`group by ${group}`)}`;
  });
  const sets = columns.map((column) => `${column} = excluded.${column}`).join(', ');
  await sql`
    ${sql.raw(`insert into usage_rollup (${names}, ${columns.join(', ')})`)} ${sql.join(parts, sql` union all `)}
    ${sql.raw(`on conflict (${names}) do update set ${sets}`)}
  `.execute(db);
}

/** Counts in the rollup what a gateway of an older version, which knows none, wrote while it was being replaced. */
export const repairRollup: Prune = async (trx, now) => {
  await rollUp(trx, dayOf(now - 2 * dayMs));
  return 0;
};

const figureColumns = `
  ${countColumns.map((column) => `${column} bigint not null`).join(', ')}, cpu_ms double precision not null`;

/** Makes the table of usage figures. No foreign keys: the figures outlive the keys and tenants that they are about. */
export async function createUsageTable(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'usage_daily', figureColumns);
  await sql`create index usage_daily_day on usage_daily (day)`.execute(db);
}

/** Adds durations, failures by code, and the rollup with what there is. */
export async function createUsageDetail(db: Kysely<unknown>): Promise<void> {
  const buckets = bucketColumns.map((column) => `${column} bigint`);
  const columns = [figureColumns, ...buckets].join(', ');
  await createTable(db, 'usage_failures', columns);
  await createTable(db, 'usage_rollup', columns);
  await sql`create index usage_failures_day on usage_failures (day)`.execute(db);
  await sql`create index usage_rollup_day on usage_rollup (day, service)`.execute(db);
  const days = await sql<{ day: string }>`select distinct day from usage_daily`.execute(db);
  // Day by day, as a statement has five seconds.
  for (const { day } of days.rows) await rollUp(db, day, []);
  // Last, since gateways that run meanwhile cannot write until the end.
  for (const column of buckets) await sql.raw(`alter table usage_daily add column ${column}`).execute(db);
}

async function createTable(db: Kysely<unknown>, table: UsageTableName, columns: string): Promise<void> {
  const names = nameColumns[table].map((name) => `${name} text not null`);
  const key = `constraint ${table}_pk primary key (${nameColumns[table].join(', ')})`;
  await sql.raw(`create table ${table} (${[...names, columns, key].join(', ')})`).execute(db);
}
