import { sql } from 'kysely';
import type { Access } from '../database/database.js';
import { quantile } from './histogram.js';
import { bucketColumns, type UsageTables } from './store.js';

/** UTC days, both included. */
export interface DaySpan {
  from: string;
  to: string;
}

/** What a day came to; `errors` are all of them, those that limits refused too. */
export interface DayFigures extends Record<'calls' | 'errors' | 'limited' | 'cpu_ms', number> {
  day: string;
  p95_ms: number | null;
}

/** Figures of lists are as old as this at most. */
const freshMs = 5_000;
const mostRemembered = 200;

const errors = sql<number>`cast(sum(errors_client + errors_limited + errors_server) as bigint)`.as('errors');
const calls = sql<number>`cast(sum(calls) as bigint)`.as('calls');
const limited = sql<number>`cast(sum(errors_limited) as bigint)`.as('limited');
const cpu = sql<number>`sum(cpu_ms)`.as('cpu_ms');
const lastDay = sql<string>`max(day)`.as('last_day');
const buckets = bucketColumns.map((column) =>
  sql<number>`cast(sum(${sql.ref(column)}) as bigint)`.as(column),
);

/** Figures for lists and the overview; those who ask for the same within five seconds share one read. */
export function createFigures({ run }: Access<UsageTables>, now: () => number) {
  const remembered = new Map<string, { at: number; read: Promise<unknown> }>();

  function remember<Args extends unknown[], T>(name: string, read: (...args: Args) => Promise<T>) {
    return (...args: Args): Promise<T> => {
      const key = JSON.stringify([name, ...args]);
      const known = remembered.get(key);
      if (known && now() - known.at < freshMs) return known.read as Promise<T>;
      if (remembered.size >= mostRemembered) remembered.clear();
      const entry = { at: now(), read: read(...args) };
      remembered.set(key, entry);
      entry.read.catch(() => remembered.delete(key));
      return entry.read;
    };
  }

  return {
    /** Of each tenant that has called. */
    tenants: remember('tenants', ({ from, to }: DaySpan) =>
      run((db) =>
        db
          .selectFrom('usage_rollup')
          .select(['tenant as tenant_id', calls, errors, cpu, lastDay])
          .where('day', '>=', from)
          .where('day', '<=', to)
          .where('service', '=', '')
          .groupBy('tenant')
          .execute(),
      ),
    ),
    /** Of each day with calls, oldest first: of the tenant with this id, or of all. */
    days: remember('days', async ({ from, to, tenant }: DaySpan & { tenant?: string | undefined }) => {
      const rows = await run((db) =>
        db
          .selectFrom('usage_rollup')
          .select(['day', calls, errors, limited, cpu, ...buckets])
          .where('tenant', '=', tenant ?? '')
          .where('service', tenant === undefined ? '<>' : '=', '')
          .where('day', '>=', from)
          .where('day', '<=', to)
          .groupBy('day')
          .orderBy('day')
          .execute(),
      );
      return rows.map((row): DayFigures => {
        const counts = row as unknown as Record<string, number | null>;
        const { day, calls, errors, limited, cpu_ms } = row as unknown as DayFigures;
        const p95_ms = quantile(
          bucketColumns.map((column) => counts[column] ?? 0),
          0.95,
        );
        return { day, calls, errors, limited, cpu_ms, p95_ms };
      });
    }),
    /** Of each key of a tenant that has called. */
    keys: remember('keys', (tenant: string, { from, to }: DaySpan) =>
      run((db) =>
        db
          .selectFrom('usage_daily')
          .select(['key_id', calls, errors, cpu, lastDay])
          .where('tenant', '=', tenant)
          .where('day', '>=', from)
          .where('day', '<=', to)
          .groupBy('key_id')
          .execute(),
      ),
    ),
  };
}
