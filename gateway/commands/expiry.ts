import { parseTime } from '../../schemas/vocabulary/future.js';
import { parseDuration } from './duration.js';

/**
 * The moment that `30d` or `12h` from `now` (ms) means, in ISO 8601; anything else stays as it is, for the keys' rules to
 * judge.
 */
export function readExpiry(text: string, now: number): string {
  const seconds = parseDuration(text);
  if (!seconds) return text;
  const end = new Date(now + seconds * 1000);
  // Beyond what a date can be, or its year can be written.
  const written = Number.isNaN(end.getTime()) ? '' : end.toISOString();
  return parseTime(written) === undefined ? text : written;
}
