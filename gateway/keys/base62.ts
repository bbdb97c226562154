import { randomBytes } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 in a byte; bytes at or past it are drawn again, or the first characters would be likelier. */
const unbiased = 248;

/**
 * `length` characters of 0-9A-Za-z, each drawn uniformly (5.95 bits) from the system's random source. Own code because it is
 * seven lines, and a package would see every key as it is made.
 */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < unbiased && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text;
}

/** A non-negative safe integer in base62, most significant digit first, filled up with `0` to `length`. */
export function encodeBase62(value: number, length: number): string {
  let text = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = alphabet[rest % 62] + text;
  return text.padStart(length, '0');
}
