import type { JobRequest } from './jobs.js';

/** What rows of a job and of an item take beside what is in them, roughly: so a bound of bytes is one of their number too. */
const bytesAJob = 64 * 1024;
const bytesAnItem = 1024;

/** Bytes that a job takes until its end, near enough for a bound: its texts and its files. */
export function heldBytes({
  inputs,
  textBytes,
  files,
  sharedFiles,
}: Pick<JobRequest, 'inputs' | 'textBytes' | 'files' | 'sharedFiles'>): number {
  let bytes = bytesAJob + inputs.length * bytesAnItem + textBytes + sizeOf(sharedFiles);
  for (const [name, value] of inputs[0]?.fields ?? []) bytes += name.length + value.length;
  for (const each of files) bytes += sizeOf(each);
  return bytes;
}

function sizeOf(files: ReadonlyMap<string, Uint8Array>): number {
  return [...files.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}
