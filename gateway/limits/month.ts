/** A calendar month in UTC, as quotas count it. */
export interface Month {
  /** `YYYY-MM`. */
  name: string;
  /** Its length in seconds. */
  seconds: number;
  /** Whole seconds until the next one begins, at least 1. */
  left: number;
}

/** The month of a moment, given in epoch milliseconds. */
export function monthOf(at: number): Month {
  const date = new Date(at);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  return {
    name: date.toISOString().slice(0, 7),
    seconds: (end - start) / 1000,
    left: Math.ceil((end - at) / 1000),
  };
}
