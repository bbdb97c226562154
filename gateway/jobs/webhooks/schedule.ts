const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Between a try that failed and the next; the last goes on. */
const steps = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  3 * hour,
] as const;
const lastStep = 3 * hour;
/** How much longer a step may be, so that what failed together does not come back together. */
const jitter = 0.25;
/** How long a receiver that says so is left alone at most. */
const mostRetryAfter = 6 * hour;

/** How long a delivery is tried. */
export const triedForMs = 24 * hour;

export interface FailedTry {
  /** Tries so far, this one included. */
  attempts: number;
  createdAt: number;
  now: number;
  /** How long the receiver wants to be left alone. */
  retryAfterMs?: number | undefined;
  /** From 0 to 1. */
  random: number;
}

/** When to try again, ms since 1970: at the end of the day for the last time, and not after that. Pure. */
export function nextTry({
  attempts,
  createdAt,
  now,
  retryAfterMs = 0,
  random,
}: FailedTry): number | undefined {
  const end = createdAt + triedForMs;
  if (now >= end) return undefined;
  const step = (steps[attempts - 1] ?? lastStep) * (1 + jitter * random);
  return Math.min(end, Math.round(now + Math.max(step, Math.min(retryAfterMs, mostRetryAfter))));
}

/** What `Retry-After` says in milliseconds from now: whole seconds or a date; undefined where it says neither. Pure. */
export function readRetryAfter(header: string | string[] | undefined, now: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * second;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
