import type { Access } from '../database/access.js';
import { formatCursor, parseCursor } from './cursor.js';
import type { JudgedUsageQuery } from './query.js';
import type { UsageTable, UsageTables } from './tables.js';

/** A day's sums of one key at one helper; `cpu_ms` to a tenth. */
export interface UsageRow extends Omit<UsageTable, 'tenant' | 'key_id'> {
  /** The key's id. */
  key: string;
  /** The sum of the three classes. */
  errors: number;
}

/** Newest day first, then by key and helper. `next` is there where more rows follow. */
export interface UsagePage {
  rows: UsageRow[];
  next?: string;
}

function toRow(row: UsageTable): UsageRow {
  const { errors_client, errors_limited, errors_server } = row;
  return {
    day: row.day,
    key: row.key_id,
    service: row.service,
    calls: row.calls,
    errors: errors_client + errors_limited + errors_server,
    errors_client,
    errors_limited,
    errors_server,
    bytes_in: row.bytes_in,
    bytes_out: row.bytes_out,
    cpu_ms: Math.round(row.cpu_ms * 10) / 10,
  };
}

/**
 * One page of a tenant's figures. Throws `invalid_input` for an `after` that nobody handed out, and a `DatabaseError` where the
 * database does not answer.
 */
export async function readUsage(
  { run }: Access<UsageTables>,
  tenant: string,
  { from, to, limit, after }: JudgedUsageQuery,
): Promise<UsagePage> {
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
