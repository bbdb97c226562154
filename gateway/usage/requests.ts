import { type Kysely, type RawBuilder, sql } from 'kysely';
import { compileFields, type FieldsSchema } from '../../schemas/fields.js';
import { parseSpan } from '../../schemas/keywords/future.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import type { Config } from '../config.js';
import type { BatchSource } from '../database/batch-writer.js';
import type { Access } from '../database/database.js';
import { type Prune, pruneTable } from '../database/prune-daily.js';
import { givenRows, rowsPerTransaction, slices } from '../database/rows.js';
import { readPage } from '../keys/lists.js';
import { keyId, tenantName } from '../keys/schemas.js';
import type { UsageRecord } from './store.js';

export interface RequestLimits {
  /** Calls stored of a tenant; 0 stores none. */
  most: number;
  ttlSeconds: number;
}

export function requestLimits(config: Pick<Config, 'requests' | 'requestsTtlSeconds'>): RequestLimits {
  return { most: config.requests, ttlSeconds: config.requestsTtlSeconds };
}

/** Calls in memory between two batches, also while the database is away: the newest of each tenant. */
const mostPending = 4_000;
/** A tenant's oldest are deleted when this process has added a tenth to them, or as many. */
const leastBetweenTrims = 100;

type RequestRow = Record<'tenant' | 'request_id' | 'key_id' | 'service' | 'code', string> &
  Record<'at' | 'status' | 'ms' | 'dryrun', number>;

const columns: Record<keyof RequestRow, string> = {
  ...{ tenant: 'text', at: 'bigint', request_id: 'text', key_id: 'text', service: 'text' },
  ...{ status: 'bigint', code: 'text', ms: 'double precision', dryrun: 'bigint' },
};
const names = Object.keys(columns) as (keyof RequestRow)[];

export type RequestTables = { requests: RequestRow };

/** Stores the last calls of each tenant, to be written in batches. It never has what was sent, nor a key. */
export function createRequestLog(
  { kind }: Pick<Access<RequestTables>, 'kind'>,
  { most }: Pick<RequestLimits, 'most'> = { most: 0 },
) {
  const trimAfter = Math.max(leastBetweenTrims, most / 10);
  let pending = new Map<string, UsageRecord[]>();
  let count = 0;
  /** Calls written of a tenant since its oldest were deleted. */
  const untrimmed = new Map<string, number>();

  /** Leaves the newest of a tenant. */
  function cut(calls: UsageRecord[], to: number): void {
    if (calls.length > to) count -= calls.splice(0, calls.length - to).length;
  }

  /** Whether there is space for one more; where it is scarce, every tenant gives up its older half. */
  function hasSpace(): boolean {
    if (count < mostPending) return true;
    if (pending.size > mostPending / 2) return false;
    for (const calls of pending.values()) cut(calls, Math.ceil(calls.length / 2));
    return true;
  }

  function* writes() {
    const drained = pending;
    pending = new Map();
    count = 0;
    const calls = [...drained].flatMap(([, own]) => own.slice(-most));
    for (const batch of slices(calls, rowsPerTransaction)) {
      const rows = batch.map(({ tenant, at = Date.now(), requestId, key, service, ...call }) => [
        ...[tenant, at, requestId, key, service, call.status, call.code],
        ...[Math.round(call.ms * 10) / 10, call.dryrun ? 1 : 0],
      ]);
      const due = tenantsToTrim(batch);
      yield {
        async write(trx: Kysely<Record<never, object>>) {
          await sql`${insert} ${givenRows(kind, rows)} where true on conflict do nothing`.execute(trx);
          for (const tenant of due) await trim(tenant).execute(trx);
        },
      };
    }
  }

  function tenantsToTrim(batch: UsageRecord[]): string[] {
    for (const { tenant } of batch) untrimmed.set(tenant, (untrimmed.get(tenant) ?? 0) + 1);
    const due = [...untrimmed].filter(([, added]) => added >= trimAfter).map(([tenant]) => tenant);
    for (const tenant of due) untrimmed.delete(tenant);
    return due.sort();
  }

  const trim = (tenant: string) => sql`
    delete from requests where tenant = ${tenant} and at <
      (select at from requests where tenant = ${tenant} order by at desc limit 1 offset ${most - 1})`;

  return {
    record(call: UsageRecord): void {
      if (most === 0 || !hasSpace()) return;
      call.at ??= Date.now();
      const calls = pending.get(call.tenant);
      count += 1;
      if (!calls) pending.set(call.tenant, [call]);
      else if (calls.push(call) >= 2 * most) cut(calls, most);
    },
    drain: writes,
  } satisfies BatchSource & { record(call: UsageRecord): void };
}

const values = Object.values(columns).map((type, at) => `cast(value ->> ${at} as ${type})`);
const insert = sql.raw(`insert into requests (${names.join(', ')}) select ${values.join(', ')} from`);

export async function createRequestTable(db: Kysely<unknown>): Promise<void> {
  const definitions = names.map((name) => `${name} ${columns[name]} not null`);
  const key = 'constraint requests_pk primary key (tenant, at, request_id)';
  await sql.raw(`create table requests (${definitions.join(', ')}, ${key})`).execute(db);
  await sql`create index requests_at on requests (at, request_id)`.execute(db);
  await sql`create index requests_code on requests (code, at, request_id)`.execute(db);
  await sql`create index requests_id on requests (request_id)`.execute(db);
}

/** Deletes calls that are too old to be shown. */
export function pruneRequests({ ttlSeconds }: RequestLimits): Prune {
  return pruneTable('requests', 'tenant, at, request_id', (now) => sql`at < ${now - ttlSeconds * 1000}`);
}

const cursor = {
  type: 'string',
  maxLength: 200,
  form: 'the next or previous of another page, unchanged',
} as const;

/** What chooses calls. */
const requestSchema = {
  properties: {
    tenant: { ...tenantName, description: 'Only calls of this tenant.' },
    key: { ...keyId, description: 'Only calls with this key.' },
    service: { type: 'string', line: 200, description: 'Only calls of this helper.' },
    status: {
      type: 'string',
      pattern: '^[1-5](\\d\\d|xx)$',
      form: 'a status such as 429, or a class such as 5xx',
      description: 'Only calls answered with this status, or with one of this class.',
    },
    code: { type: 'string', line: 60, description: 'Only calls with this code; `ok` is no error.' },
    request_id: { type: 'string', line: 60, description: 'The call with this `x-request-id`.' },
    from: { type: 'string', moment: true, description: 'Only calls from this day (UTC) or time on.' },
    to: { type: 'string', moment: true, description: 'Only calls up to this day or time, included.' },
    after: { ...cursor, description: '`next` of another page: what is older.' },
    before: { ...cursor, description: '`previous` of another page: what is newer.' },
    limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'Calls a page.' },
  },
} as const satisfies FieldsSchema;

type RequestQuery = { limit: number } & {
  [Name in Exclude<keyof typeof requestSchema.properties, 'limit'>]?: string | undefined;
};

export const createRequestInput = () => compileFields<RequestQuery>(createAdminVocabulary({}), requestSchema);

/** Calls of the tenant with this id, or of all, newest first; cursors lead on where there are more. */
export async function readRequests(
  { run }: Access<RequestTables>,
  { ttlSeconds, now }: { ttlSeconds: number; now: number },
  tenant: string | undefined,
  query: RequestQuery,
) {
  const where = conditions(tenant, query, now - ttlSeconds * 1000);
  const from = { from: sql`requests`, id: sql`request_id`, value: sql`at`, type: 'number' as const };
  return run(async (db) => {
    const { rows: ids, ...cursors } = await readPage(db, { ...from, where }, { ...query, order: 'desc' });
    if (ids.length === 0) return { rows: [], ...cursors };
    const select = db.selectFrom('requests').select(names).where('request_id', 'in', ids);
    return { rows: await select.orderBy('at', 'desc').orderBy('request_id', 'desc').execute(), ...cursors };
  });
}

function conditions(tenant: string | undefined, query: RequestQuery, oldest: number): RawBuilder<unknown>[] {
  const { from, until } = parseSpan(query);
  const { status, key, service, code, request_id } = query;
  const where = [sql`at >= ${Math.max(from ?? 0, oldest)}`];
  if (until !== undefined) where.push(sql`at < ${until}`);
  for (const [column, value] of Object.entries({ tenant, key_id: key, service, code, request_id })) {
    if (value !== undefined) where.push(sql`${sql.ref(column)} = ${value}`);
  }
  if (status?.endsWith('xx')) {
    const least = Number(status[0]) * 100;
    where.push(sql`status between ${least} and ${least + 99}`);
  } else if (status !== undefined) where.push(sql`status = ${Number(status)}`);
  return where;
}
