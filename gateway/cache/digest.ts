import { hash, webcrypto } from 'node:crypto';
import type { FileBytes } from '../../pool/task.js';
import type { Now } from '../after.js';

/** Past this, hashing would hold up the main thread for a tenth of a millisecond and more. */
const mostHere = 128 * 1024;

/** SHA-256 of bytes as base64url, which names them wherever content is compared; of many on a thread of libuv's. */
export function digestOf(bytes: Uint8Array): Now<string> {
  if (bytes.byteLength <= mostHere) return hash('sha256', bytes, 'base64url');
  return webcrypto.subtle
    .digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
    .then((digest) => Buffer.from(digest).toString('base64url'));
}

/** Of bytes that several calls use: they are hashed once, when the first of them asks. */
const ofShared = new WeakMap<Uint8Array, Now<string>>();

/** The digest of a file's bytes. */
export function digestOfFile({ bytes, shared }: FileBytes): Now<string> {
  if (!shared) return digestOf(bytes);
  const made = ofShared.get(bytes) ?? digestOf(bytes);
  ofShared.set(bytes, made);
  return made;
}

/** The digests of several, in their order. */
export function digestsOf(files: readonly FileBytes[]): Now<string[]> {
  const digests = files.map(digestOfFile);
  const isHere = digests.every((digest) => typeof digest === 'string');
  return isHere ? (digests as string[]) : Promise.all(digests);
}
