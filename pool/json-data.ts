import { isBoxedPrimitive, isNativeError, isPromise } from 'node:util/types';

/**
 * What JSON would leave out, empty or garble without a word: `a function`, `a Map`, `a Promise`, `a ReadStream`. Undefined
 * for data, and for what says itself how it is written (`toJSON`: a Date, a URL). What has customary JSON is data too: an
 * undefined field is left out, NaN is null, an instance of a class is its own fields.
 */
export function lostInJson(value: unknown): string | undefined {
  switch (typeof value) {
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
    case 'bigint':
      return hasOwnJson(value) ? undefined : 'a bigint';
    case 'object':
      return value === null || isPlain(value) || !isLost(value) ? undefined : nameOf(value);
    default:
      return undefined;
  }
}

/** What an author may write instead of what is lost, after a message that names it; empty where nothing can be said of its kind. */
export function insteadOfLost(value: unknown): string {
  if (value === undefined) return ' (is a return missing?)';
  if (typeof value === 'bigint') return ' (write String(…) or Number(…))';
  if (value instanceof Map) return ' (write Object.fromEntries(…))';
  if (value instanceof Set) return ' (write [...…])';
  if (isPromise(value)) return ' (await it)';
  if (isNativeError(value)) return ' (throw it)';
  return Array.isArray(value) ? ' (put it into a field)' : '';
}

/** Whether the value has a `toJSON`, which `JSON.stringify` then asks. */
export function hasOwnJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function';
}

/** A value's kind with its article: `a Response`, `an array`, `a string`, `undefined`. */
export function nameOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  const name = typeof value === 'object' ? className(value) : typeof value;
  return /^[aeio]/i.test(name) ? `an ${name}` : `a ${name}`;
}

/** Objects as literals make them, of any realm, and arrays. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isLost(value: object): boolean {
  // Bytes have a form in JSON, a list of numbers under their places, which nobody wants.
  if (ArrayBuffer.isView(value)) return true;
  if (hasOwnJson(value) || isBoxedPrimitive(value)) return false;
  if (isNativeError(value) || isPromise(value) || Symbol.asyncIterator in value) return true;
  return Object.keys(value).length === 0;
}

function className(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== '' ? name.slice(0, 60) : 'object';
}
