import type { Access, Database } from '../../../../gateway/database/database.js';
import { createJobId, type ItemInput, type ItemRef } from '../../../../gateway/jobs/model.js';
import type { NewJob } from '../../../../gateway/jobs/store/create.js';
import { createJobStore, type JobStore } from '../../../../gateway/jobs/store/job-store.js';
import type { JobTables } from '../../../../gateway/jobs/store/tables.js';
import type { EndedItem } from '../../../../gateway/jobs/store/transitions.js';

/** A store with a clock that its test moves. */
export interface TestStore extends JobStore {
  access: Access<JobTables>;
  clock: { now: number };
}

/** 2026-01-01. */
const start = 1_767_225_600_000;

export function openJobStore(database: Database, clock = { now: start }): TestStore {
  const access = database.access<JobTables>();
  return { ...createJobStore(access, { now: () => clock.now }), access, clock };
}

let made = 0;

/** A job that is to be made; ids of later ones are greater. */
export function newJob(job: Partial<NewJob> = {}): NewJob {
  made += 1;
  const of = { tenant_id: 'ten_1', key_id: 'key_1', service: 'text/remove-stopwords', webhook_url: null };
  return { id: createJobId(start + made), ...of, ...job };
}

export function inputs(count: number): ItemInput[] {
  return Array.from({ length: count }, (_, index) => ({ json: `{"text":"${index}"}`, files: [] }));
}

export function refs(job: string, count: number): ItemRef[] {
  return Array.from({ length: count }, (_, index) => ({ job, index }));
}

/** A job of so many items in the store, and its items. */
export async function storeJob(store: JobStore, count: number, job: Partial<NewJob> = {}) {
  const made = newJob(job);
  await store.create(made, inputs(count));
  return { id: made.id, items: refs(made.id, count) };
}

const result = { kind: 'json', type: 'application/json', bytes: 2, dryrun: false } as const;

/** An item that was done, as a call that took 2 ms. */
export function done(ref: ItemRef, at = start): EndedItem {
  const call = { tenant: 'ten_1', key: 'key_1', service: 'text/remove-stopwords' };
  const outcome = { status: 200, code: 'ok', ms: 9, requestId: 'r' };
  const usage = { ...call, ...outcome, bytesIn: 3, bytesOut: 5, cpuMs: 2, at };
  return { ...ref, end: { state: 'done', result }, usage };
}

/** An item that failed, as a call that was answered 400. */
export function failed(ref: ItemRef, at = start): EndedItem {
  const { usage } = done(ref, at);
  const details = [{ field: 'text', problem: 'is missing' }];
  const error = { code: 'invalid_input', message: 'No.', details };
  return { ...ref, end: { state: 'failed', error }, ...(usage && { usage: { ...usage, status: 400 } }) };
}

/** Calls that were counted, and failures among them. */
export async function counted({ access }: TestStore): Promise<{ calls: number; errors: number }> {
  const rows = await access.run((db) => db.selectFrom('usage_daily').selectAll().execute());
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + of(row), 0);
  return { calls: sum(({ calls }) => calls), errors: sum(({ errors_client }) => errors_client) };
}

/** What is to be delivered to webhooks. */
export async function deliveries({ access }: TestStore) {
  const rows = await access.run((db) => db.selectFrom('webhook_deliveries').selectAll().execute());
  return rows.map((row) => ({ ...row, payload: JSON.parse(row.payload) }));
}
