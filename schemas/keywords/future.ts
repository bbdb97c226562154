import { describeValue, quote } from '../quote.js';
import { isDay } from './day.js';
import { type Keyword, switchedOn } from './keyword.js';

const dayMs = 86_400_000;

const iso8601 =
  /^(\d{4}-\d\d-\d\d)(?:T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?$/;

const timeForm =
  'an ISO 8601 day such as 2030-01-31, or a time with Z or an offset such as 2030-01-31T18:00:00Z';

/**
 * Reads an ISO 8601 day (its first moment in UTC) or a time with `Z` or an offset, as ms since 1970; undefined for anything
 * else. A time without an offset is refused: it would mean something else on each machine.
 */
export function parseTime(text: string): number | undefined {
  const day = iso8601.exec(text)?.[1];
  if (day === undefined || !isDay(day)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** `future: true` on a string: what `parseTime` reads, later than now. It stays as it was written. */
export const future: Keyword<true> = {
  name: 'future',
  type: 'string',
  ...switchedOn,
  prepare:
    (_, __, { now = Date.now }) =>
    (value) => {
      const time = parseTime(value);
      if (time === undefined) return { problem: `must be ${timeForm}, but is ${describeValue(value)}` };
      if (time > now()) return { value };
      return { problem: `is ${quote(value)}, which has passed; it must lie in the future` };
    },
  describe: () => timeForm,
};

/** `moment: true` on a string: what `parseTime` reads. It stays as it was written. */
export const moment: Keyword<true> = {
  name: 'moment',
  type: 'string',
  ...switchedOn,
  prepare: () => (value) =>
    parseTime(value) === undefined
      ? { problem: `must be ${timeForm}, but is ${describeValue(value)}` }
      : { value },
  describe: () => timeForm,
};

/** A span of time from and to what `parseTime` reads, a last day included whole; the end is excluded. */
export function parseSpan({ from = '', to = '' }: { from?: string | undefined; to?: string | undefined }) {
  const end = parseTime(to);
  const rest = isDay(to) ? dayMs : 1;
  return { from: parseTime(from), until: end === undefined ? undefined : end + rest };
}
