import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

import { encodeBase62, randomBase62 } from './base62.js';

const PREFIX = 'hg_';
/** 27 × log2(62) is 160.7 random bits. */
const RANDOM_LENGTH = 27;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

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
  const random = randomBase62(RANDOM_LENGTH);
  return PREFIX + random + checksum(random);
}

/**
 * The digest of a text that has a key's form, or undefined. The checksum refuses every change of one character and
 * every swap within the random part, so a typo costs no look-up. It is no secret and proves nothing: anybody
 * can compute it.
 */
export function parseKey(text: string): KeyDigest | undefined {
  if (!SHAPE.test(text)) return undefined;
  const random = text.slice(PREFIX.length, -CHECKSUM_LENGTH);
  if (!text.endsWith(checksum(random))) return undefined;
  return { hash: hashKey(text), prefix: text.slice(0, PREFIX.length + 4), suffix: text.slice(-4) };
}

/**
 * SHA-256 of a key as 64 hexadecimal digits. No salt and no slow hash: those are for secrets that can be guessed, and
 * 160 random bits cannot.
 */
export function hashKey(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function checksum(random: string): string {
  return encodeBase62(crc32(random), CHECKSUM_LENGTH);
}
