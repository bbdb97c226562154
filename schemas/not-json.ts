import { joinField } from './explain-errors.js';

/**
 * What in a value called `name` is no JSON, each with its place: an object that holds itself, and functions and the like. A schema
 * is read by going through all of it, and it is sent to the worker threads.
 */
export function notJson(value: unknown, name: string): string[] {
  const faults: string[] = [];
  const around = new Set<object>();
  visit(value, name);
  return faults;

  function visit(each: unknown, path: string): void {
    if (['function', 'symbol', 'bigint'].includes(typeof each)) {
      faults.push(`${path} is a ${typeof each}; a schema is plain JSON`);
    }
    if (typeof each !== 'object' || each === null) return;
    if (around.has(each)) {
      faults.push(`${path} holds itself; write it once under "definitions", and a "$ref" to it here`);
      return;
    }
    around.add(each);
    for (const [key, inner] of Object.entries(each)) visit(inner, joinField(path, key));
    around.delete(each);
  }
}
