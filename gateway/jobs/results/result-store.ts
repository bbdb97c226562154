import { createHash } from 'node:crypto';
import type { StoreName } from '../../database/store-error.js';
import type { ItemFile, ItemRef } from '../model.js';

/** Keeps bytes, whole or not at all, under names of `A-Z a-z 0-9 _ -` parted by `/`. Rejects with a `StoreError`. */
export interface ResultStore {
  /** Identifies the store: processes that have the same see each other's files. */
  id(): Promise<string>;
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Undefined where there is none of this name. Of a range, those bytes that there are of it. */
  get(name: string, range?: ByteRange): Promise<Buffer | undefined>;
  /** Removes everything whose name begins with `prefix/`; what is not there is no error. */
  removeAll(prefix: string): Promise<void>;
  /** The first parts of all names, each once, in no order. */
  prefixes(): AsyncIterable<string>;
  close(): Promise<void>;
}

/** Bytes from `start` to before `end`, of which there is one at least. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What the errors of every result store say of it. */
export const resultStore: StoreName = { code: 'storage_unavailable', name: 'The store of files and results' };

/** A name's parts. What is no name is a bug of ours: nothing that came from outside may lead out of a store. */
export function nameParts(name: string): string[] {
  const parts = name.split('/');
  if (!parts.every((part) => /^[\w-]{1,200}$/.test(part)))
    throw new TypeError('not a name in a result store');
  return parts;
}

/** What begins the names of a job's files, its items' and those that they share. */
export function inputsName(job: string): string {
  return `${job}/in`;
}

/** Whether a name is that of a file that came with a job. */
export function isInput(name: string): boolean {
  return name.split('/')[1] === 'in';
}

/** Where a file of an item lies. Its field may have any name: a client chose it. */
export function inputName(
  { job, index }: ItemRef,
  { field, shared }: Pick<ItemFile, 'field' | 'shared'>,
): string {
  const name = /^[A-Za-z_][\w-]{0,63}$/.test(field)
    ? field
    : `-${createHash('sha256').update(field).digest('hex')}`;
  return `${inputsName(job)}/${shared ? 'all' : index}/${name}`;
}

/** Where an item's result lies: of each attempt at it a place of its own, since one that has lost its lease may still be at work. */
export function resultName({ job, index }: ItemRef, attempt = 1): string {
  return `${job}/out/${index}${attempt > 1 ? `-${attempt}` : ''}`;
}
