import { hash, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fontFilesOf } from '../../pool/image/text/fonts.js';
import type { FileBytes, WorkerReport } from '../../pool/task.js';

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

/** Past this, hashing would hold up the main thread for a tenth of a millisecond and more. */
const mostHashedHere = 128 * 1024;

/** SHA-256 of bytes as base64url, which names them wherever content is compared; of many on a thread of libuv's. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength <= mostHashedHere) return hash('sha256', bytes, 'base64url');
  const digest = await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Buffer.from(digest).toString('base64url');
}

/** Of bytes that several calls use: they are hashed once, when the first of them asks. */
const ofShared = new WeakMap<Uint8Array, Promise<string>>();

/** The digest of a file's bytes. */
export function digestOfFile({ bytes, shared }: FileBytes): Promise<string> {
  if (!shared) return digestOf(bytes);
  const made = ofShared.get(bytes) ?? digestOf(bytes);
  ofShared.set(bytes, made);
  return made;
}

/**
 * What draws pictures, as far as their bytes depend on it: the package's version, the engine's, and the fonts besides the shipped one
 * by their content. The same on every gateway that draws the same.
 */
export async function identifyEngine(
  { engine, version }: WorkerReport,
  { packageVersion, fonts }: { packageVersion: string; fonts: readonly string[] },
): Promise<readonly string[]> {
  const drawn = [];
  for (const file of await fontFilesOf(fonts)) drawn.push(await digestOf(await readFile(file)));
  return [packageVersion, engine, version ?? '', ...drawn];
}

/** The field value of a strong entity tag. */
export function etagOf(tag: string): string {
  return `"${tag}"`;
}

const entityTags = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/**
 * Whether `If-None-Match` names this entity tag, in its weak comparison (RFC 9110, 13.1.2): proxies that compress make tags weak.
 * `*` names none: it is asked by those who would write.
 */
export function isNamed(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false;
  const strong = etag.replace(/^W\//, '');
  for (const [, named] of ifNoneMatch.matchAll(entityTags)) if (named === strong) return true;
  return false;
}

/**
 * How long others may keep an answer. That of a signed url, which is the same for whoever has the url, for as long as the url holds,
 * and at most `ttlSeconds`; that of a key, which is one customer's, not at all.
 */
export function cacheControl(
  { signedUntil }: { signedUntil?: number | undefined },
  { ttlSeconds, now }: { ttlSeconds: number; now: number },
): string {
  if (signedUntil === undefined) return 'private, no-store';
  const left = Math.floor(signedUntil - now / 1000);
  return `public, max-age=${Math.max(0, Math.min(ttlSeconds, left))}`;
}
