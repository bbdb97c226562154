import { describeValue } from '../quote.js';
import { normalisingKeyword } from './keyword.js';

/** What a `day` allows. */
export const dayForm = 'a day such as 2030-01-31';

/** Whether this is a day of the calendar, written `YYYY-MM-DD`. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  // Date.parse takes 31 April for 1 May.
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** `day: true` on a string. */
export const dayKeyword = normalisingKeyword({
  keyword: 'day',
  type: 'string',
  metaSchema: { const: true },
  prepare: () => (value) => {
    if (isDay(value as string)) return { ok: true, value };
    return { ok: false, problem: `must be ${dayForm}, but is ${describeValue(value)}` };
  },
});
