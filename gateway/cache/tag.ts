import { hash } from 'node:crypto';

/**
 * A name for values: the same for equal ones, whatever the order of their fields, and another for any others (SHA-256 as base64url).
 * Takes what JSON can say, and the numbers that it cannot.
 */
export function tagOf(value: unknown): string {
  return hash('sha256', canonical(value), 'base64url');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, each]) => each !== undefined);
    fields.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(',')}}`;
  }
  // JSON would write what is no number as null, and both zeros alike.
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return JSON.stringify(value) ?? 'undefined';
}
