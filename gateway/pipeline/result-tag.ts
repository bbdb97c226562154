import { hash, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fontFilesOf } from '../../pool/image/text/fonts.js';
import type { FileBytes, WorkerReport } from '../../pool/task.js';

/** SHA-256 of a value as base64url, whatever the order of its fields. Accepts JSON values, and numbers that JSON cannot express. */
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
  // JSON writes NaN and infinity as null, and both zeros alike.
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return JSON.stringify(value) ?? 'undefined';
}

/** Hashing more would block the main thread for more than a tenth of a millisecond. */
const mostHashedHere = 128 * 1024;

/** SHA-256 of bytes as base64url; of many on a libuv thread. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength <= mostHashedHere) return hash('sha256', bytes, 'base64url');
  const digest = await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Buffer.from(digest).toString('base64url');
}

/** Bytes that several calls share are hashed once. */
const ofShared = new WeakMap<Uint8Array, Promise<string>>();

export function digestOfFile({ bytes, shared }: FileBytes): Promise<string> {
  if (!shared) return digestOf(bytes);
  const made = ofShared.get(bytes) ?? digestOf(bytes);
  ofShared.set(bytes, made);
  return made;
}

/** All of the engine that pictures depend on: the versions of package and engine, and the content of fonts besides the shipped one. */
export async function identifyEngine(
  { engine, version }: WorkerReport,
  { packageVersion, fonts }: { packageVersion: string; fonts: readonly string[] },
): Promise<readonly string[]> {
  const drawn = [];
  for (const file of await fontFilesOf(fonts)) drawn.push(await digestOf(await readFile(file)));
  return [packageVersion, engine, version ?? '', ...drawn];
}

export function etagOf(tag: string): string {
  return `"${tag}"`;
}

const entityTags = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether `If-None-Match` names this entity tag, by weak comparison (RFC 9110, 13.1.2): proxies that compress make tags weak. `*` matches none. */
export function isNamed(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false;
  const strong = etag.replace(/^W\//, '');
  for (const [, named] of ifNoneMatch.matchAll(entityTags)) if (named === strong) return true;
  return false;
}

/** A signed url's answer may be cached while the url is valid, for `ttlSeconds` at most; one for a key not at all. */
export function cacheControl(
  { signedUntil }: { signedUntil?: number | undefined },
  { ttlSeconds, now }: { ttlSeconds: number; now: number },
): string {
  if (signedUntil === undefined) return 'private, no-store';
  const left = Math.floor(signedUntil - now / 1000);
  return `public, max-age=${Math.max(0, Math.min(ttlSeconds, left))}`;
}
