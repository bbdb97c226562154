import type { Item, ItemEnd, ItemInput, ItemRef, ItemState, Job } from '../model.js';
import type { ItemRow, JobRow } from './tables.js';

/** The columns of a job that others see. */
export const jobColumns = [
  'id',
  'tenant_id',
  'key_id',
  'service',
  'webhook_url',
  'bytes',
  'created_at',
  'cancelled_at',
  'finished_at',
  'total',
  'started',
  'done',
  'failed',
  'cancelled',
] as const satisfies (keyof Job)[];

/** The columns of an item that others see. */
export const itemColumns = ['job_id', 'idx', 'state', 'ended'] as const satisfies (keyof ItemRow)[];

export function refOf({ job_id, idx }: Pick<ItemRow, 'job_id' | 'idx'>): ItemRef {
  return { job: job_id, index: idx };
}

export function itemOf(row: Pick<ItemRow, (typeof itemColumns)[number]>): Item {
  const { result, error } = row.ended === null ? {} : (JSON.parse(row.ended) as Partial<Item>);
  return {
    ...refOf(row),
    state: row.state as ItemState,
    ...(result && { result }),
    ...(error && { error }),
  };
}

/** What `itemOf` reads again. */
export function endedText(end: ItemEnd): string {
  if (end.state === 'done') return JSON.stringify({ result: end.result });
  return JSON.stringify(end.state === 'failed' ? { error: end.error } : {});
}

export type Fields = NonNullable<ItemInput['fields']>;

/** What is kept of an input where its fields stand at the job. */
export function inputText({ fields, ...own }: ItemInput, shared: Fields | undefined): string {
  return JSON.stringify(fields === undefined || fields === shared ? own : { ...own, fields });
}

/** An input as it was given. */
export function inputOf(text: string, shared: Fields | undefined): ItemInput {
  const own = JSON.parse(text) as ItemInput;
  return shared ? { fields: shared, ...own } : own;
}

/** The fields of a job that all its items share. */
export function fieldsOf({ fields }: Pick<JobRow, 'fields'>): Fields | undefined {
  return fields === null ? undefined : JSON.parse(fields);
}
