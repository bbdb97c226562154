import type { Access } from '../database/access.js';
import { GatewayError } from '../errors.js';
import { formatCursor, parseCursor } from './cursor.js';
import type { UsageTable, UsageTables } from './tables.js';

export interface UsageQuery {
  /** First UTC day, `YYYY-MM-DD`. */
  from?: string;
  /** Last UTC day, included. */
  to?: string;
  /** Rows a page, 1 to 5000; default 1000. */
  limit?: number;
  /** `next` of the page before. */
  after?: string;
}

export interface UsageRow {
  day: string;
  /** The key's id. */
  key: string;
  service: string;
  calls: number;
  /** The sum of the three classes that follow. */
  errors: number;
  /** 4xx other than 429. */
  errors_client: number;
  /** 429. */
  errors_limited: number;
  /** 5xx. */
  errors_server: number;
  bytes_in: number;
  bytes_out: number;
  /** CPU time of pool tasks in milliseconds, to a tenth. */
  cpu_ms: number;
}

/** Newest day first, then by key and helper. `next` is there where more rows follow. */
export interface UsagePage {
  rows: UsageRow[];
  next?: string;
}

const MAX_LIMIT = 5000;

function checkDay(field: string, day: string | undefined): void {
  if (day === undefined) return;
  const real = /^\d{4}-\d{2}-\d{2}$/.test(day) && new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day);
  if (real) return;
  throw new GatewayError('invalid_input', {
    details: [{ field, problem: 'must be a day as YYYY-MM-DD, e.g. 2025-01-31' }],
  });
}

function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return;
  throw new GatewayError('invalid_input', {
    details: [{ field: 'limit', problem: `must be a whole number from 1 to ${MAX_LIMIT}` }],
  });
}

// PostgreSQL hands out its 64-bit integers as text.
function toRow(row: UsageTable): UsageRow {
  const client = Number(row.errors_client);
  const limited = Number(row.errors_limited);
  const server = Number(row.errors_server);
  return {
    day: row.day,
    key: row.key_id,
    service: row.service,
    calls: Number(row.calls),
    errors: client + limited + server,
    errors_client: client,
    errors_limited: limited,
    errors_server: server,
    bytes_in: Number(row.bytes_in),
    bytes_out: Number(row.bytes_out),
    cpu_ms: Math.round(Number(row.cpu_ms) * 10) / 10,
  };
}

/**
 * One page of a tenant's figures. Throws `invalid_input` naming `from`, `to`, `limit` or `after`, and `keys_unavailable` where the
 * database does not answer.
 */
export async function readUsage(
  { run }: Access<UsageTables>,
  tenant: string,
  { from, to, limit = 1000, after }: UsageQuery = {},
): Promise<UsagePage> {
  checkDay('from', from);
  checkDay('to', to);
  checkLimit(limit);
  const last = after === undefined ? undefined : parseCursor(after);
  const found = await run((db) => {
    let query = db.selectFrom('usage_daily').selectAll().where('tenant', '=', tenant);
    if (from) query = query.where('day', '>=', from);
    if (to) query = query.where('day', '<=', to);
    if (last) {
      query = query.where((eb) =>
        eb.or([
          eb('day', '<', last.day),
          eb.and([eb('day', '=', last.day), eb('key_id', '>', last.key)]),
          eb.and([eb('day', '=', last.day), eb('key_id', '=', last.key), eb('service', '>', last.service)]),
        ]),
      );
    }
    return query
      .orderBy('day', 'desc')
      .orderBy('key_id')
      .orderBy('service')
      .limit(limit + 1)
      .execute();
  });
  const rows = found.slice(0, limit).map(toRow);
  const end = rows.at(-1);
  return found.length > limit && end ? { rows, next: formatCursor(end) } : { rows };
}
