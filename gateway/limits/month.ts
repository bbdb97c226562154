/** A calendar month in UTC, as quotas count it. */
export interface Month {
  /** `YYYY-MM`. */
  name: string;
  /** Its length in seconds. */
  seconds: number;
  /** Whole seconds until the next one begins, at least 1. */
  left: number;
}

/** Tells the month of moments given in epoch milliseconds; cheap for one after another of the same month. */
export function createMonthClock(): (at: number) => Month {
  let start = 0;
  let end = 0;
  let name = '';
  return function monthOf(at) {
    if (at < start || at >= end) {
      const date = new Date(at);
      start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
      end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
      name = date.toISOString().slice(0, 7);
    }
    return { name, seconds: (end - start) / 1000, left: Math.ceil((end - at) / 1000) };
  };
}
