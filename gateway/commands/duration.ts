const secondsIn = { s: 1, m: 60, h: 3_600, d: 86_400 };

/**
 * Whole seconds of `30s`, `15m`, `24h` or `7d`; `now` and `0` are 0; undefined for anything else. Own code because packages
 * also take `30`, for milliseconds.
 */
export function parseDuration(text: string): number | undefined {
  if (text === 'now' || text === '0') return 0;
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  if (!match) return undefined;
  return Number(match[1]) * secondsIn[match[2] as keyof typeof secondsIn];
}
