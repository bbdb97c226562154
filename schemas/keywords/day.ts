import { describeValue } from '../quote.js';
import { type Keyword, switchedOn } from './keyword.js';

const dayForm = 'a day such as 2030-01-31';

/** Whether this is a day of the calendar, written `YYYY-MM-DD`. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  // Date.parse reads 31 April as 1 May.
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** `day: true` on a string. */
export const day: Keyword<true> = {
  name: 'day',
  type: 'string',
  ...switchedOn,
  prepare: () => (value) =>
    isDay(value) ? { value } : { problem: `must be ${dayForm}, but is ${describeValue(value)}` },
  describe: () => dayForm,
  standard: (_, plain) => ({ ...plain, format: 'date' }),
};
