import type { FuncKeywordDefinition } from 'ajv';
import { describeValue, quote } from '../quote.js';
import { isDay } from './day.js';
import { normalisingKeyword } from './keyword.js';

const iso8601 =
  /^(\d{4}-\d\d-\d\d)(?:T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?$/;

/** What `future` allows. */
export const futureForm =
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

/** `future: true` on a string: what `parseTime` reads, later than `now` (ms). It stays as it was written. */
export function futureKeyword(now: () => number): FuncKeywordDefinition {
  return normalisingKeyword({
    keyword: 'future',
    type: 'string',
    metaSchema: { const: true },
    prepare: () => (value) => {
      const text = value as string;
      const time = parseTime(text);
      if (time === undefined) {
        return { ok: false, problem: `must be ${futureForm}, but is ${describeValue(text)}` };
      }
      if (time > now()) return { ok: true, value };
      return { ok: false, problem: `is ${quote(text)}, which has passed; it must lie in the future` };
    },
  });
}
