import { shown } from './checks.js';

const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?$/;

/**
 * Reads a key's expiry: an ISO 8601 day (its first moment in UTC) or a time with `Z` or an offset, in the future of `now`
 * (ms). A time without an offset is refused: it would mean something else on each machine.
 */
export function checkExpiry(value: unknown, now: number): { value: number | null } | { problem: string } {
  if (value === undefined || value === null) return { value: null };
  const time = typeof value === 'string' ? parseIso(value) : undefined;
  if (time === undefined) {
    return {
      problem: `is ${shown(value)}; it must be an ISO 8601 day such as "2030-01-31", or a time with Z or an offset such as "2030-01-31T18:00:00Z"`,
    };
  }
  if (time <= now) return { problem: `is ${shown(value)}, which has passed; it must lie in the future` };
  return { value: time };
}

function parseIso(text: string): number | undefined {
  const match = ISO_8601.exec(text);
  if (!match) return undefined;
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number];
  // Date.parse takes 31 April for 1 May.
  const date = new Date(Date.UTC(year, month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
