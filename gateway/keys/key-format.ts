import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const keyPrefix = 'hg_';
/** 27 × log2(62) is 160.7 random bits. */
const randomLength = 27;
const checksumLength = 6;
const keyPattern = new RegExp(`^${keyPrefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** What may be stored of a key, and shown again: the key cannot be computed from it. */
interface KeyDigest {
  /** SHA-256 of the whole key, 64 hexadecimal digits. */
  hash: string;
  /** The first seven characters, e.g. `hg_Ab3d`. */
  prefix: string;
  /** The last four characters; they belong to the checksum. */
  suffix: string;
}

/** Draws a new key: `hg_`, 27 random characters of base62, and their CRC32 as 6 characters of base62. */
export function createKey(): string {
  const random = randomBase62(randomLength);
  return keyPrefix + random + checksum(random);
}

/**
 * The digest of a text that has a key's form, or undefined. The checksum refuses every change of one character and
 * every swap within the random part, so a typo costs no look-up. It is no secret and proves nothing: anybody
 * can compute it.
 */
export function parseKey(text: string): KeyDigest | undefined {
  if (!keyPattern.test(text)) return undefined;
  const random = text.slice(keyPrefix.length, -checksumLength);
  return text.endsWith(checksum(random)) ? digestOf(text) : undefined;
}

export function digestOf(key: string): KeyDigest {
  return { hash: hashSecret(key), prefix: key.slice(0, keyPrefix.length + 4), suffix: key.slice(-4) };
}

function checksum(random: string): string {
  return encodeBase62(crc32(random), checksumLength);
}

/**
 * What the database stores of a random secret (a key, an invitation, a session): its SHA-256, 64 hexadecimal
 * digits. No salt and no slow hash: those are for secrets that can be guessed, and 128 random bits and more cannot.
 */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 in a byte; bytes at or past it are drawn again, or the first characters would be likelier. */
const unbiasedBytes = 248;

/**
 * `length` characters of 0-9A-Za-z, each drawn uniformly (5.95 bits) from the system's random source. Own code because it is
 * seven lines, and a package would see every key as it is made.
 */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < unbiasedBytes && text.length < length) text += base62Digits[byte % 62];
    }
  }
  return text;
}

/** A non-negative safe integer in base62, most significant digit first, filled up with `0` to `length`. */
export function encodeBase62(value: number, length: number): string {
  let text = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = base62Digits[rest % 62] + text;
  return text.padStart(length, '0');
}
