import { mostLevels } from '../input/json-scan.js';

const mostElements = 10_000;

/** A copy of a JSON value, or why it is refused. */
export type Copied = { ok: true; value: unknown } | { ok: false; problem: string };

/**
 * A deep copy of a JSON value, so that defaults and normal forms are written into it and not into the caller's. Refuses
 * what costs more to judge than it can be worth: more than 32 levels, more than `most` elements in all (10,000 unless the
 * schema's own `maxItems` is larger), which would be as many errors, and a key `__proto__`.
 */
export function copyJson(value: unknown, most = 0): Copied {
  if (typeof value !== 'object' || value === null) return { ok: true, value };
  const limit = Math.max(most, mostElements);
  let left = limit;
  let problem: string | undefined;

  function copy(from: unknown, depth: number): unknown {
    if (typeof from !== 'object' || from === null || problem !== undefined) return from;
    if (depth > mostLevels) {
      problem = `is nested more than ${mostLevels} levels deep`;
      return undefined;
    }
    const keys = Object.keys(from);
    left -= Array.isArray(from) ? from.length : keys.length;
    if (left < 0) {
      problem = `has more than ${limit} elements`;
      return undefined;
    }
    if (Array.isArray(from)) return from.map((item) => copy(item, depth + 1));
    if (keys.includes('__proto__')) {
      problem = 'has a key "__proto__", which no helper takes';
      return undefined;
    }
    return Object.fromEntries(Object.entries(from).map(([key, item]) => [key, copy(item, depth + 1)]));
  }

  const result = copy(value, 1);
  return problem === undefined ? { ok: true, value: result } : { ok: false, problem };
}
