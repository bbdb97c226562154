import { parseTime } from '../../schemas/vocabulary/future.js';
import { requireValid } from '../errors.js';
import type { KeyInputs } from '../keys/inputs.js';
import { readExpiry } from './expiry.js';

const usualSeconds = 7 * 86_400;
const day = 86_400;

export interface EndFlags {
  /** As it was typed: a time from now, or an ISO 8601 day or time. */
  expires?: string | undefined;
  /** In seconds. */
  window?: number | undefined;
}

/**
 * When a url ends that is signed at `now` (ms), in whole seconds since 1970: seven days on if nothing is said, and then at the end of
 * that day, so that all that are signed on one day are the same to caches. A `window` does so with any end: it is moved up to the next
 * whole one since 1970. Throws `invalid_input` on `expires_at` for what is no time that is to come.
 */
export function signedEnd(
  { expires, window }: EndFlags,
  inputs: Pick<KeyInputs, 'key'>,
  now: number,
): number {
  if (expires === undefined) return roundUp(now / 1000 + usualSeconds, window ?? day);
  const given = { expires_at: readExpiry(expires, now) };
  const { expires_at = '' } = requireValid(inputs.key.check(given));
  return roundUp((parseTime(expires_at) as number) / 1000, window ?? 1);
}

function roundUp(seconds: number, window: number): number {
  return Math.ceil(seconds / window) * window;
}
