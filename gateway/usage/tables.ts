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
  /** 429. */
  errors_limited: number;
  /** 5xx. */
  errors_server: number;
  bytes_in: number;
  bytes_out: number;
  /** Milliseconds for which calls held a worker thread. */
  cpu_ms: number;
}

export type UsageTables = { usage_daily: UsageTable };
