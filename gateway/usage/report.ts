import { compileFields, type Fields, type FieldsSchema } from '../../schemas/fields.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import type { Access } from '../database/database.js';
import { inputError } from '../errors.js';
import { countColumns, errorsOf, type Figures, type UsageTables } from './store.js';

export interface UsageQuery {
  /** First UTC day, `YYYY-MM-DD`. */
  from?: string;
  to?: string;
  /** Rows a page, 1 to 5000; default 1000. */
  limit?: number;
  after?: string;
}

type ValidUsageQuery = UsageQuery & { limit: number };

const usageSchema: FieldsSchema = {
  properties: {
    from: { type: 'string', day: true, description: 'First UTC day.' },
    to: { type: 'string', day: true, description: 'Last UTC day, included.' },
    after: {
      type: 'string',
      maxLength: 1000,
      form: 'the next of the page before, unchanged',
      description: '`next` of the page before.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 5000, default: 1000, description: 'Rows a page.' },
  },
};

export function createUsageInput(): Fields<ValidUsageQuery> {
  return compileFields(createAdminVocabulary({}), usageSchema);
}

/** A day's sums of one key at one helper; `cpu_ms` to a tenth. */
export interface UsageRow extends Figures {
  day: string;
  key: string;
  service: string;
  /** The sum of the three classes. */
  errors: number;
}

/** Newest day first, then by key and helper. `next` is there where more rows follow. */
export interface UsagePage {
  rows: UsageRow[];
  next?: string;
}

const rowColumns = ['day', 'key_id', 'service', ...countColumns, 'cpu_ms'] as const;

function toRow({
  day,
  key_id: key,
  service,
  calls,
  ...sums
}: Omit<UsageTables['usage_daily'], 'tenant'>): UsageRow {
  const errors = errorsOf(sums);
  return { day, key, service, calls, errors, ...sums, cpu_ms: Math.round(sums.cpu_ms * 10) / 10 };
}

/**
 * One page of a tenant's figures. Throws `invalid_input` for an `after` that no page gave, and a `StoreError` where the
 * database does not answer.
 */
export async function readUsage(
  { run }: Access<UsageTables>,
  tenant: string,
  { from, to, limit, after }: ValidUsageQuery,
): Promise<UsagePage> {
  const last = after === undefined ? undefined : parseUsageCursor(after);
  const found = await run((db) => {
    let query = db.selectFrom('usage_daily').select(rowColumns).where('tenant', '=', tenant);
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
  return found.length > limit && end ? { rows, next: formatUsageCursor(end) } : { rows };
}

type UsageCursor = Pick<UsageRow, 'day' | 'key' | 'service'>;

/** Opaque to its reader: its form may change. */
function formatUsageCursor({ day, key, service }: UsageCursor): string {
  return Buffer.from(JSON.stringify([day, key, service])).toString('base64url');
}

/** Reads what `formatUsageCursor` wrote; throws `invalid_input` naming `after` for anything else. */
function parseUsageCursor(text: string): UsageCursor {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(parts) && parts.length === 3) {
      const [day, key, service] = parts;
      // NUL is legal JSON, and an error in PostgreSQL.
      const sound = [day, key, service].every((part) => typeof part === 'string' && !part.includes('\0'));
      if (sound) return { day, key, service };
    }
  } catch {
    // Not JSON: answered below as any other text that is no cursor.
  }
  throw inputError([{ field: 'after', problem: 'must be the next of the page before, unchanged' }]);
}
