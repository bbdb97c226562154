import { crc32 } from 'node:zlib';

import { encodeBase62, randomBase62 } from './base62.js';
import { hashSecret } from './hash-secret.js';

const prefix = 'hg_';
/** 27 × log2(62) is 160.7 random bits. */
const randomLength = 27;
const checksumLength = 6;
const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** What may be kept of a key, and shown again: nothing here leads back to it. */
export interface KeyDigest {
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
  return prefix + random + checksum(random);
}

/**
 * The digest of a text that has a key's form, or undefined. The checksum refuses every change of one character and
 * every swap within the random part, so a typo costs no look-up. It is no secret and proves nothing: anybody
 * can compute it.
 */
export function parseKey(text: string): KeyDigest | undefined {
  if (!shape.test(text)) return undefined;
  const random = text.slice(prefix.length, -checksumLength);
  return text.endsWith(checksum(random)) ? digestOf(text) : undefined;
}

/** What is kept of a key. */
export function digestOf(key: string): KeyDigest {
  return { hash: hashSecret(key), prefix: key.slice(0, prefix.length + 4), suffix: key.slice(-4) };
}

function checksum(random: string): string {
  return encodeBase62(crc32(random), checksumLength);
}
