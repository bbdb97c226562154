import { type RawBuilder, sql } from 'kysely';
import { compileFields, type FieldsSchema } from '../../schemas/fields.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import type { Access } from '../database/database.js';
import { visitYielding } from '../database/rows.js';
import { inputError } from '../errors.js';
import { keyId, tenantName } from '../keys/schemas.js';
import { quantile } from './histogram.js';
import {
  addSums,
  bucketColumns,
  countColumns,
  dayMs,
  dayOf,
  errorsOf,
  noSums,
  type Sums,
  type UsageTableName,
  type UsageTables,
} from './store.js';

export const dimensions = ['day', 'tenant', 'key', 'service', 'outcome', 'code'] as const;
type Dimension = (typeof dimensions)[number];
const nameOf = dimensions.join('|');

/** The most rows of an answer. */
const mostRows = 20_000;
/** Days at once where keys or errors of all tenants are read one by one. */
const mostDaysOfAll = 31;

const sumsSchema = {
  properties: {
    from: { type: 'string', day: true, description: 'First UTC day; 29 days before the last if left out.' },
    to: { type: 'string', day: true, description: 'Last UTC day, included; today if left out.' },
    tenant: { ...tenantName, description: 'Only calls of this tenant.' },
    key: { ...keyId, description: 'Only calls with this key.' },
    service: { type: 'string', line: 200, description: 'Only calls of this helper.' },
    by: {
      type: 'string',
      default: 'day',
      pattern: `^((${nameOf})(,(${nameOf}))?)?$`,
      form: `one or two of ${dimensions.join(', ')}, with a comma between`,
      description: `What a row is about: one or two of ${dimensions.join(', ')}; all is one row where it is empty.`,
    },
  },
} as const satisfies FieldsSchema;

type SumsQuery = { by: string } & {
  [Name in Exclude<keyof typeof sumsSchema.properties, 'by'>]?: string | undefined;
};

export const createSumsInput = () => compileFields<SumsQuery>(createAdminVocabulary({}), sumsSchema);

/** A row of sums: what it is about, and figures. `p50_ms` and `p95_ms` are null where no durations were counted. */
interface SumsRow extends Partial<Record<Dimension, string>> {
  calls: number;
  errors: number;
  bytes_in: number;
  bytes_out: number;
  cpu_ms: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

const columnOf = { day: 'day', tenant: 'tenant', key: 'key_id', service: 'service', code: 'code' } as const;
type Column = Exclude<Dimension, 'outcome'>;
type Group = { names: Partial<Record<Dimension, string>>; sums: Sums };

/** Calls of a span by one or two dimensions; `tenantId` and the rows' tenants and keys are ids. */
export async function readSums(
  access: Access<UsageTables>,
  query: SumsQuery & { tenantId?: string | undefined; durations?: boolean },
  now: number,
): Promise<SumsRow[]> {
  const { key, service, tenantId: tenant, durations = true, to = dayOf(now) } = query;
  const from = query.from ?? dayOf(Date.parse(to) - 29 * dayMs);
  if (from > to) throw inputError([{ field: 'from', problem: `is ${from}, which is after to (${to})` }]);
  const by = query.by.split(',').filter(Boolean) as Dimension[];
  if (by.length === 2 && by[0] === by[1])
    throw inputError([{ field: 'by', problem: `names ${by[0]} twice` }]);
  const outer = outerOf(by);
  const ofFailures = outer.length < by.length;
  const onKeys = key !== undefined || by.includes('key');
  // Failures of all tenants are summed up by day, helper and code alone.
  const oneByOne = onKeys || (ofFailures && by.includes('tenant'));
  const isLong = Date.parse(to) - Date.parse(from) >= mostDaysOfAll * dayMs;
  if (oneByOne && tenant === undefined && isLong) {
    const what = onKeys ? 'keys' : 'errors';
    const problem = `must be within ${mostDaysOfAll} days of to where ${what} of all tenants are asked for; name a tenant, or choose fewer days`;
    throw inputError([{ field: 'from', problem }]);
  }
  const ofAll = !oneByOne && tenant === undefined && !by.includes('tenant');
  // The rollup's row of all helpers is there for one tenant alone.
  const withServices = onKeys || ofAll || by.includes('service');
  const read = { from, to, tenant, key, service, durations, ofAll };
  const table = onKeys ? 'usage_daily' : 'usage_rollup';
  const totals = await readGroups(access, table, outer, { ...read, withServices });
  let groups = totals;
  if (ofFailures) {
    const ofCodes = { ...read, withServices: true };
    const failures = await readGroups(access, 'usage_failures', [...outer, 'code'], ofCodes);
    groups = splitByOutcome(totals, failures, by);
    if (groups.length > mostRows) throw tooMany();
  }
  const rows: SumsRow[] = [];
  await visitYielding(groups, (group) => rows.push(toRow(group)));
  return rows.sort(byName(query.by));
}

function tooMany() {
  const problem = `gives more than ${mostRows} rows; choose fewer days or one dimension`;
  return inputError([{ field: 'by', problem }]);
}

/** What a day came to, for charts; `errors` are all of them, those that limits refused too. */
export type DayFigures = Awaited<ReturnType<typeof readDays>>[number];

/** Days with calls, oldest first: of the tenant with this id, or of all. */
export async function readDays(
  access: Access<UsageTables>,
  { tenant, ...span }: { from: string; to: string; tenant?: string | undefined },
) {
  const ofAll = tenant === undefined;
  const read = { ...span, tenant, ofAll, withServices: ofAll, durations: true };
  const groups = await readGroups(access, 'usage_rollup', ['day'], read);
  const days = groups.map(({ names: { day = '' }, sums }) => {
    const { calls, errors_limited: limited, cpu_ms, buckets } = sums;
    return { day, calls, errors: errorsOf(sums), limited, cpu_ms, p95_ms: quantile(buckets, 0.95) };
  });
  return days.sort((a, b) => (a.day < b.day ? -1 : 1));
}

interface GroupRead extends Omit<SumsQuery, 'by'> {
  /** Whether to read the rows that are of all tenants together. */
  ofAll: boolean;
  withServices: boolean;
  /** Whether to read by how long calls took, which are most of the columns. */
  durations: boolean;
}

const sumOf = (column: string) => sql<number>`cast(sum(${sql.ref(column)}) as bigint)`.as(column);
const plainSums = [...countColumns.map(sumOf), sql<number>`sum(cpu_ms)`.as('cpu_ms')];
const allSums = [...plainSums, ...bucketColumns.map(sumOf)];

/** Rejects where there are too many: of sums that lack a part the rest would be wrong. */
async function readGroups(
  { run }: Access<UsageTables>,
  table: UsageTableName,
  by: Column[],
  { from, to, tenant, key, service, ofAll, withServices, durations }: GroupRead,
): Promise<Group[]> {
  const where: RawBuilder<unknown>[] = [sql`day between ${from} and ${to}`];
  if (tenant !== undefined) where.push(sql`tenant = ${tenant}`);
  else where.push(ofAll ? sql`tenant = ''` : sql`tenant <> ''`);
  if (key !== undefined) where.push(sql`key_id = ${key}`);
  if (service !== undefined) where.push(sql`service = ${service}`);
  else where.push(withServices ? sql`service <> ''` : sql`service = ''`);
  const columns = by.map((name) => columnOf[name]);
  const rows = await run((db) =>
    db
      .selectFrom(table as 'usage_failures')
      .select([...columns, ...(durations ? allSums : plainSums)])
      .where(sql<boolean>`${sql.join(where, sql` and `)}`)
      .$if(columns.length > 0, (query) => query.groupBy(columns))
      .limit(mostRows + 1)
      .execute(),
  );
  if (rows.length > mostRows) throw tooMany();
  const groups: Group[] = [];
  await visitYielding(rows as Record<string, unknown>[], (row) => {
    const sums = { ...noSums(), buckets: bucketColumns.map((column) => Number(row[column] ?? 0)) };
    for (const column of [...countColumns, 'cpu_ms'] as const) sums[column] = Number(row[column] ?? 0);
    const names = Object.fromEntries(by.map((name) => [name, row[columnOf[name]]]));
    // Without a group, no calls are one row too.
    if (sums.calls > 0) groups.push({ names, sums });
  });
  return groups;
}

const outcomes = { errors_client: '4xx', errors_limited: '429', errors_server: '5xx' } as const;
const errorColumns = Object.keys(outcomes) as (keyof typeof outcomes)[];

const outerOf = (by: readonly Dimension[]) =>
  by.filter((name): name is Column => name !== 'outcome' && name !== 'code');

/** Groups as the calls in them that went well and those that did not; errors that an older gateway counted have no code. */
function splitByOutcome(totals: Group[], failures: Group[], by: readonly Dimension[]): Group[] {
  const split = new Map<string, Group>();
  const nameBy = (names: Group['names'], by: readonly Dimension[]) =>
    by.map((name) => names[name]).join('\n');

  function add(given: Group['names'], sums: Sums): void {
    const name = nameBy(given, by);
    const group = split.get(name);
    if (group) addSums(group.sums, sums);
    else split.set(name, { names: Object.fromEntries(by.map((name) => [name, given[name]])), sums });
  }

  /** Adds the errors of one class by their number: what else is known of them stays in `from`. */
  function move(from: Sums, column: (typeof errorColumns)[number], names: Group['names']): void {
    if (from[column] <= 0) return;
    const moved = { ...noSums(), calls: from[column], [column]: from[column] };
    addSums(from, moved, -1);
    add({ ...names, outcome: outcomes[column] }, moved);
  }

  const rest = new Map(totals.map(({ names, sums }) => [nameBy(names, outerOf(by)), sums]));
  for (const { names, sums } of failures) {
    const total = rest.get(nameBy(names, outerOf(by)));
    if (total) addSums(total, sums, -1);
    // Calls with one code are of one class, but where clients went away: these are 499.
    const [largest = 'errors_server', ...others] = errorColumns.toSorted((a, b) => sums[b] - sums[a]);
    for (const column of others) move(sums, column, names);
    add({ ...names, outcome: outcomes[largest] }, sums);
  }
  for (const { names, sums } of totals) {
    for (const column of errorColumns) move(sums, column, { ...names, code: `unknown_${outcomes[column]}` });
    if (sums.calls > 0) add({ ...names, outcome: 'ok', code: 'ok' }, sums);
  }
  return [...split.values()];
}

function toRow({ names, sums }: Group): SumsRow {
  const { calls, bytes_in, bytes_out, cpu_ms, buckets } = sums;
  return {
    ...names,
    ...{ calls, errors: errorsOf(sums), bytes_in, bytes_out, cpu_ms: Math.round(cpu_ms * 10) / 10 },
    ...{ p50_ms: quantile(buckets, 0.5), p95_ms: quantile(buckets, 0.95) },
  };
}

/** Newest day first, then by name. */
export function byName(by: string) {
  const names = by.split(',') as Dimension[];
  return function compare(a: SumsRow, b: SumsRow): number {
    for (const name of names) {
      const [left = '', right = ''] = [a[name], b[name]];
      if (left !== right) return left < right === (name === 'day') ? 1 : -1;
    }
    return 0;
  };
}
