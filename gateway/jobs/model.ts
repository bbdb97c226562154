import type { AnswerHeaders } from '../../pool/answer.js';
import type { CallPrice } from '../../pool/costs.js';
import { encodeBase62, randomBase62 } from '../keys/model.js';

export const mostItems = 10_000;

/** What becomes of an item: it waits, is worked on, and ends once. */
export type ItemState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';

/** Those of a job follow from its items: `failed` where none of them was done, `cancelled` where it was called off before its end. */
export type JobState = ItemState;

export interface ItemRef {
  job: string;
  /** From 0. */
  index: number;
}

/** An item as the key of a map. */
export function itemName({ job, index }: ItemRef): string {
  return `${job} ${index}`;
}

/** Work for one helper, of which each item is a call. Times are ms since 1970. */
export interface Job {
  id: string;
  tenant_id: string;
  /** The key that made it: its scopes, its end and its usage are the items'. */
  key_id: string;
  service: string;
  webhook_url: string | null;
  /** Bytes that its inputs hold, as its maker has counted them; 0 once they are removed. */
  bytes: number;
  created_at: number;
  cancelled_at: number | null;
  finished_at: number | null;
  total: number;
  /** Items that have begun, whatever became of them. */
  started: number;
  done: number;
  failed: number;
  cancelled: number;
}

/** A file that came with an item; its bytes lie in the result store. */
export interface ItemFile {
  field: string;
  /** Media type, as its sender says. */
  type: string;
  name?: string;
  bytes: number;
  /** Every item of the job has it; it lies there once. */
  shared?: true;
}

/** What an item is given: text in JSON, or the fields that all items of its job share; and files. */
export interface ItemInput {
  /** The item's own object, as it was written. */
  json?: string;
  /** Names and values of a form. */
  fields?: readonly (readonly [string, string])[];
  files: readonly ItemFile[];
}

/** What an item has come to. Bytes of a result lie in the result store, but for small JSON, which is `text` here. */
export type ItemEnd =
  | { state: 'done'; result: ItemResult; text?: string }
  | { state: 'failed'; error: ItemError }
  | { state: 'cancelled' };

/** A result as the helper's answer would be: `data` of an envelope where `kind` is `json`. */
export interface ItemResult {
  kind: 'json' | 'bytes';
  type: string;
  bytes: number;
  headers?: AnswerHeaders;
  dryrun: boolean;
  /** Of a dry run: what the call is likely to cost. */
  cost?: CallPrice;
  /** The attempt that it is of; the first, where nothing is said. */
  attempt?: number;
}

/** An error as the envelope would have it. */
export interface ItemError {
  code: string;
  message: string;
  details?: readonly { field: string; problem: string }[];
}

export interface Item extends ItemRef {
  state: ItemState;
  result?: ItemResult;
  /** The result itself, where it is asked for alone and lies with the item. */
  text?: string;
  error?: ItemError;
}

export function jobState({ total, started, done, failed, cancelled, cancelled_at }: Job): JobState {
  if (done + failed + cancelled < total) return started > 0 ? 'running' : 'waiting';
  if (cancelled_at !== null && cancelled > 0) return 'cancelled';
  return done > 0 ? 'done' : 'failed';
}

export const jobIdPattern = '^job_[0-9A-Za-z]{1,40}$';
const jobIdForm = new RegExp(jobIdPattern);

/** `job_`, the time in 8 digits of base62 (until the year 8889), 83 random bits in 14: they sort by time. */
export function createJobId(now = Date.now()): string {
  return `job_${encodeBase62(now, 8)}${randomBase62(14)}`;
}

export function isJobId(id: string): boolean {
  return jobIdForm.test(id);
}

/** Whether this is the id of a job that was made before that time, in ms since 1970. */
export function isJobBefore(id: string, time: number): boolean {
  return /^job_[0-9A-Za-z]{22}$/.test(id) && id.slice(4, 12) < encodeBase62(time, 8);
}
