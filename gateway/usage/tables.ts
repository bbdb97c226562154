import type { Kysely } from 'kysely';

/** One day's sums of one tenant's key at one helper. Sums are never negative. */
export interface UsageTable {
  /** UTC, `YYYY-MM-DD`. */
  day: string;
  tenant: string;
  key_id: string;
  service: string;
  calls: number;
  errors_client: number;
  errors_limited: number;
  errors_server: number;
  bytes_in: number;
  bytes_out: number;
  cpu_ms: number;
}

/** The last batch that each gateway process has written: what makes writing a batch twice harmless. */
export interface UsageWriterTable {
  id: string;
  batch: number;
  /** Epoch milliseconds. */
  at: number;
}

/** Calls that count against a tenant's quota, by calendar month. */
export interface QuotaTable {
  tenant: string;
  /** UTC, `YYYY-MM`. */
  month: string;
  used: number;
}

export interface UsageTables {
  usage_daily: UsageTable;
  usage_writers: UsageWriterTable;
  quota_use: QuotaTable;
}

/**
 * A handle on a database, SQLite or PostgreSQL, whose migrations include `usageMigration`. Kysely's handles are
 * invariant in their tables, so one on more tables than these would not fit a narrower type.
 */
// biome-ignore lint/suspicious/noExplicitAny: the reason is the sentence above
export type UsageDatabase = Kysely<any>;
