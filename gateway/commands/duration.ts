import { readSeconds } from '../../schemas/config/forms.js';

/**
 * Whole seconds of `30s`, `15m`, `24h` or `7d`; `now` and `0` are 0; undefined for anything else. A number alone is refused, which
 * elsewhere stands for milliseconds.
 */
export function parseDuration(text: string): number | undefined {
  if (text === 'now' || text === '0') return 0;
  return /^\d{1,9}[smhd]$/.test(text) ? readSeconds(text) : undefined;
}
