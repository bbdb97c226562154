import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely';
import type { Access, DatabaseKind } from '../database/database.js';
import { inputError } from '../errors.js';
import { selectKeys, selectTenants, tenantOf, withSecrets } from './rows.js';
import { isTenantName, type keyFilters, type keySorts, type tenantSorts } from './schemas.js';
import type { KeyTables } from './tables.js';

/** A page of a list: behind the cursor `after`, or before the cursor `before`. */
interface ListPage {
  order: 'asc' | 'desc';
  after?: string | undefined;
  before?: string | undefined;
  limit: number;
}

export interface TenantList extends ListPage {
  q?: string | undefined;
  state?: 'active' | 'suspended' | undefined;
  plan?: string | undefined;
  sort: (typeof tenantSorts)[number];
  /** The first UTC day that figures count, `YYYY-MM-DD`. */
  since: string;
}

export interface KeyList extends ListPage {
  q?: string | undefined;
  tenant_id?: string | undefined;
  state?: (typeof keyFilters)[number] | undefined;
  sort: (typeof keySorts)[number];
  /** At which keys and secrets expire, ms since 1970. */
  now: number;
}

/** Lists of tenants and keys, filtered and sorted by the database. */
export function createLists({ run, kind }: Access<KeyTables>) {
  return {
    tenants: (list: TenantList) =>
      run(async (db) => {
        const { rows: ids, ...ways } = await readPage(db, tenantQuery(kind, list), list);
        if (ids.length === 0) return { rows: [], ...ways };
        const rows = await selectTenants(db)
          .leftJoin(figuresSince(list.since, ids).as('figures'), 'figures.tenant', 'tenants.id')
          .select(({ fn, lit }) => [
            fn.coalesce('figures.calls', lit(0)).as('calls'),
            fn.coalesce('figures.errors', lit(0)).as('errors'),
            fn.coalesce('figures.cpu_ms', lit(0)).as('cpu_ms'),
            lastUsed.as('last_used_at'),
          ])
          .where('tenants.id', 'in', ids)
          .execute();
        const byId = new Map(rows.map((row) => [row.id, row]));
        const found = ids
          .flatMap((id) => byId.get(id) ?? [])
          .map((row) => {
            const { calls, errors, cpu_ms, last_used_at } = row;
            return { tenant: tenantOf(row), figures: { calls, errors, cpu_ms, last_used_at } };
          });
        return { rows: found, ...ways };
      }),

    keys: (list: KeyList) =>
      run(async (db) => {
        const { rows: ids, ...ways } = await readPage(db, keyQuery(kind, list), list);
        const rows = ids.length === 0 ? [] : await selectKeys(db).where('keys.id', 'in', ids).execute();
        const byId = new Map((await withSecrets(db, rows)).map((key) => [key.id, key]));
        return { rows: ids.flatMap((id) => byId.get(id) ?? []), ...ways };
      }),
  };
}

/** What is listed: ids from a table, each with the value by which it is sorted. */
interface ListQuery {
  from: RawBuilder<unknown>;
  id: RawBuilder<unknown>;
  value: RawBuilder<unknown>;
  /** The value's type, which a cursor's has to be; a tenant's name is a cursor by itself. */
  type: 'number' | 'text' | 'name';
  where: RawBuilder<unknown>[];
}

type ListRow = { id: string; value: string | number };

/** The ids of a page in their order, with the cursors of the pages beside it; null where there is none. */
export async function readPage(db: QueryExecutorProvider, query: ListQuery, page: ListPage) {
  const { id, value, from } = query;
  const { after, before, limit } = page;
  const backwards = before !== undefined;
  const descending = (page.order === 'desc') !== backwards;
  const [direction, beyond] = descending ? [sql`desc`, sql`<`] : [sql`asc`, sql`>`];
  const where = [...query.where];
  if (before !== undefined || after !== undefined) {
    const start = parseCursor(before ?? after ?? '', query.type);
    if (!start) {
      const problem = 'must be the next or previous of another page of the same list, unchanged';
      throw inputError([{ field: backwards ? 'before' : 'after', problem }]);
    }
    where.push(
      query.type === 'name'
        ? sql`${value} ${beyond} ${start.value}`
        : sql`(${value}, ${id}) ${beyond} (${start.value}, ${start.id})`,
    );
  }
  const condition = where.length > 0 ? sql`where ${sql.join(where, sql` and `)}` : sql``;
  const { rows: found } = await sql<ListRow>`
    select ${id} as id, ${value} as value from ${from} ${condition}
    order by ${value} ${direction}, ${id} ${direction} limit ${limit + 1}
  `.execute(db);
  const isMore = found.length > limit;
  const rows = found.slice(0, limit);
  if (backwards) rows.reverse();
  const [first, last] = [rows[0], rows.at(-1)];
  const cursorOf = (row: ListRow) => formatCursor(row, query.type);
  const [hasPrevious, hasNext] = backwards ? [isMore, true] : [after !== undefined, isMore];
  return {
    rows: rows.map((row) => row.id),
    previous: hasPrevious && first ? cursorOf(first) : null,
    next: hasNext && last ? cursorOf(last) : null,
  };
}

/** Opaque to its reader: its form may change. */
function formatCursor({ value, id }: ListRow, type: ListQuery['type']): string {
  if (type === 'name') return String(value);
  return Buffer.from(JSON.stringify([value, id])).toString('base64url');
}

/** Reads what `formatCursor` wrote for the same order; undefined for anything else. */
function parseCursor(text: string, type: ListQuery['type']): ListRow | undefined {
  if (type === 'name') return isTenantName(text) ? { value: text, id: '' } : undefined;
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!Array.isArray(parts) || parts.length !== 2) return undefined;
    const [value, id] = parts;
    // NUL is legal JSON, and an error in PostgreSQL.
    const isSound = (part: unknown) => typeof part === 'string' && !part.includes('\0');
    return isSound(id) && (type === 'text' ? isSound(value) : Number.isSafeInteger(value))
      ? { value, id }
      : undefined;
  } catch {
    return undefined;
  }
}

/** In lower case from A to Z, on both databases alike. */
const lower = (kind: DatabaseKind, column: RawBuilder<unknown>) =>
  kind === 'postgres' ? sql`lower(${column} collate "C")` : sql`lower(${column})`;

/** A pattern of `like … escape '\'` for texts with this one in them, of which no character is a wildcard. */
function patternOf(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/[\\%_]/g, '\\$&');
}

/** Whether one of the columns has this text in it. */
export function containing(kind: DatabaseKind, text: string, columns: readonly string[]) {
  const pattern = `%${patternOf(text)}%`;
  return columns.map((column) => sql<boolean>`${lower(kind, sql.ref(column))} like ${pattern} escape '\\'`);
}

const anyOf = (conditions: readonly RawBuilder<unknown>[]) => sql`(${sql.join(conditions, sql` or `)})`;

/** When one of its keys was last used. */
const lastUsed = sql<
  number | null
>`(select max(keys.last_used_at) from keys where keys.tenant_id = tenants.id)`;

function tenantQuery(kind: DatabaseKind, { q, state, plan, sort, since }: TenantList): ListQuery {
  const where: RawBuilder<unknown>[] = [];
  if (q !== undefined) where.push(anyOf(containing(kind, q, ['tenants.name', 'external_id', 'note'])));
  if (state !== undefined)
    where.push(sql`(suspended_at is ${state === 'active' ? sql`null` : sql`not null`})`);
  if (plan !== undefined) where.push(sql`tenants.plan = ${plan}`);
  const counted = sql`tenants left join ${figuresSince(since)} as figures on figures.tenant = tenants.id`;
  const values: Record<TenantList['sort'], RawBuilder<unknown>> = {
    name: sql`tenants.name`,
    created_at: sql`tenants.created_at`,
    last_used_at: sql`coalesce(${lastUsed}, 0)`,
    calls: sql`coalesce(figures.calls, 0)`,
    errors: sql`coalesce(figures.errors, 0)`,
    cpu_ms: sql`coalesce(figures.cpu_ms, 0)`,
  };
  const isFigure = sort === 'calls' || sort === 'errors' || sort === 'cpu_ms';
  const from = isFigure ? counted : sql`tenants`;
  return {
    from,
    id: sql`tenants.id`,
    value: values[sort],
    type: sort === 'name' ? 'name' : 'number',
    where,
  };
}

/** Sums of tenants' calls since a day. */
function figuresSince(since: string, tenants?: readonly string[]) {
  return sql<Record<'calls' | 'errors' | 'cpu_ms', number> & { tenant: string }>`(
    select tenant, cast(sum(calls) as bigint) as calls, cast(round(sum(cpu_ms)) as bigint) as cpu_ms,
      cast(sum(errors_client + errors_limited + errors_server) as bigint) as errors
    from usage_rollup where service = '' and day >= ${since}
      ${tenants ? sql`and tenant in (${sql.join(tenants)})` : sql``}
    group by tenant
  )`;
}

/** The part of a secret that is stored as it is, e.g. `hg_Ab3d`. */
const prefixLength = 7;

function keyQuery(kind: DatabaseKind, { q, tenant_id, state, sort, now }: KeyList): ListQuery {
  const where: RawBuilder<unknown>[] = [];
  if (tenant_id !== undefined) where.push(sql`keys.tenant_id = ${tenant_id}`);
  if (state !== 'all') where.push(...stateConditions(state, now));
  if (q !== undefined) {
    const prefix = `${patternOf(q.slice(0, prefixLength))}%`;
    const hasSecret = sql`exists (select 1 from secrets where secrets.key_id = keys.id
      and ${lower(kind, sql`secrets.prefix`)} like ${prefix} escape '\\')`;
    where.push(anyOf([...containing(kind, q, ['keys.id', 'keys.label']), hasSecret]));
  }
  const values: Record<KeyList['sort'], RawBuilder<unknown>> = {
    created_at: sql`keys.created_at`,
    label: lower(kind, sql`coalesce(keys.label, '')`),
    tenant: sql`tenants.name`,
    last_used_at: sql`coalesce(keys.last_used_at, 0)`,
    // One without an end ends last.
    expires_at: sql`coalesce(keys.expires_at, ${sql.lit(Number.MAX_SAFE_INTEGER)})`,
  };
  const type = sort === 'label' || sort === 'tenant' ? 'text' : 'number';
  const from = sql`keys ${sort === 'tenant' ? sql`join tenants on tenants.id = keys.tenant_id` : sql``}`;
  return { from, id: sql`keys.id`, value: values[sort], type, where };
}

/** `keyState` in SQL. */
function stateConditions(state: Exclude<KeyList['state'], 'all'>, now: number): RawBuilder<unknown>[] {
  const isRevoked = sql`keys.revoked_at is not null`;
  if (state === 'revoked') return [isRevoked];
  const stays = sql`keys.revoked_at is null`;
  if (state === undefined) return [stays];
  if (state === 'expired') return [stays, sql`keys.expires_at <= ${now}`];
  const lives = [stays, sql`(keys.expires_at is null or keys.expires_at > ${now})`];
  if (state === 'paused') return [...lives, sql`keys.paused_at is not null`];
  if (state === 'active') return [...lives, sql`keys.paused_at is null`];
  const inGrace = sql`exists (select 1 from secrets where secrets.key_id = keys.id
    and secrets.ended_at is null and secrets.expires_at > ${now})`;
  return [...lives, inGrace];
}
