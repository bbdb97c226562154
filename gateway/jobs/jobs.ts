import { forEachConcurrent } from '../../pool/concurrency.js';
import { StoreError } from '../database/store-error.js';
import { type ErrorCode, errorTable, GatewayError } from '../errors.js';
import type { StoredBytes } from '../http/outbound-budget.js';
import {
  createJobId,
  type Item,
  type ItemError,
  type ItemInput,
  type ItemResult,
  type ItemState,
  isJobId,
  type Job,
  type JobState,
  jobState,
} from './model.js';
import { inputName, type ResultStore, resultName } from './results/result-store.js';
import type { StoreWatch } from './results/shared-store.js';
import { clearInputs, forgetJob } from './runner/cleanup.js';
import { type JobBytes, requireCapacity } from './store/capacity.js';
import type { Created, NewJob } from './store/create.js';
import type { JobStore, JobsPage } from './store/job-store.js';

/** A job as its tenant sees it. Times are ISO 8601. */
export interface JobView extends Pick<Job, 'id' | 'service' | 'total' | 'done' | 'failed' | 'cancelled'> {
  state: JobState;
  created_at: string;
  finished_at: string | null;
  /** When its results are forgotten; null until it has ended. */
  expires_at: string | null;
}

/** An item as its tenant sees it; `result` says what `GET …/items/N` will answer with. */
export interface ItemView extends Pick<Item, 'index' | 'error'> {
  state: ItemState;
  result?: Pick<ItemResult, 'type' | 'bytes'> & { url: string };
}

/** A valid request for a job; its inputs are validated one by one as they are worked on. */
export interface JobRequest {
  tenantId: string;
  keyId: string;
  service: string;
  webhookUrl: string | undefined;
  inputs: readonly ItemInput[];
  textBytes: number;
  /** Bytes of the files of an item, by their fields. */
  files: readonly ReadonlyMap<string, Uint8Array>[];
  /** Bytes of the files that all items share, likewise. */
  sharedFiles: ReadonlyMap<string, Uint8Array>;
  idempotency?: NonNullable<NewJob['idempotency']>;
}

/** What an item has come to: where its result lies, or its error as it would have been answered. */
type ItemAnswer =
  | { state: 'done'; result: ItemResult; stored: StoredBytes }
  | { state: 'failed'; error: GatewayError }
  | { state: 'waiting' | 'running' | 'cancelled' };

export interface JobsParts {
  store: JobStore;
  results: Pick<ResultStore, 'put' | 'get' | 'removeAll'>;
  ttlSeconds: number;
  /** Ms since 1970. */
  now?: () => number;
  /** What a tenant's jobs may hold. */
  most: JobBytes;
  /** Rejects where there is no room for inputs of so many bytes, whose files are put already. */
  requireDisk?: (bytes: number) => Promise<void>;
  /** `isNext`: no other job of the tenant has items that are still to be handed to the queue. */
  onCreated?: (job: Pick<Job, 'id' | 'tenant_id' | 'total'>, isNext: boolean) => void;
  onCancelled?: (tenantId: string, job: string) => void;
  /** Whether jobs can be made here; looked at anew when all is there but the job. */
  watch: Pick<StoreWatch, 'look' | 'refusal'>;
}

/** A store behind a network needs some 20 ms for each file. */
const concurrentPuts = 16;

export type Jobs = ReturnType<typeof createJobs>;

/** Another tenant's job is `not_found`. Files are put before the job is made: whatever works on it finds them. */
export function createJobs(parts: JobsParts) {
  const { store, results, ttlSeconds, most, now = Date.now } = parts;
  const view = (job: Job) => jobView(job, ttlSeconds);

  /** Jobs end at the second that they name, whenever their rows are removed. */
  const endedAfter = () => now() - ttlSeconds * 1_000;
  const hasExpired = ({ finished_at }: Job) => finished_at !== null && finished_at <= endedAfter();

  function requireOpen(): void {
    const error = parts.watch.refusal();
    if (error) throw error;
  }

  async function find(tenantId: string, job: string): Promise<Job> {
    // What cannot be an id is not looked up: PostgreSQL refuses some of it.
    const found = isJobId(job) ? await store.job(tenantId, job) : undefined;
    if (!found || hasExpired(found)) throw noSuchJob();
    return found;
  }

  async function make(id: string, request: JobRequest): Promise<Created> {
    const { tenantId, keyId, service, webhookUrl, inputs, idempotency } = request;
    const files = request.sharedFiles.size > 0 || request.files.length > 0;
    const forget = async () => (files ? results.removeAll(id).catch(() => undefined) : undefined);
    // Before capacity is checked: what the same request has made may be what uses it up.
    const before = idempotency && (await store.made(tenantId, idempotency, endedAfter()));
    if (before) return before;
    const bytes = heldBytes(request);
    // Before its files are put; all is counted where the job is made.
    if (files) requireCapacity(await store.held(tenantId), bytes, most);
    try {
      await forEachConcurrent(filesOf(id, request), concurrentPuts, ([name, file]) =>
        results.put(name, file),
      );
      await parts.watch.look({ anew: true });
      requireOpen();
      await parts.requireDisk?.(bytes);
    } catch (error) {
      await forget();
      throw error;
    }
    const job = {
      ...{ id, tenant_id: tenantId, key_id: keyId, service, bytes, files },
      webhook_url: webhookUrl ?? null,
      ...(idempotency ? { idempotency } : {}),
    };
    const created = await store.create(job, inputs, most).catch(async (error) => {
      if (!(error instanceof StoreError)) {
        await forget();
        throw error;
      }
      // The connection may be lost after the commit: the job is there then, or will be, and needs its files. Else they are swept.
      const found = await store.job(tenantId, id).catch(() => undefined);
      if (!found) throw error;
      return { outcome: 'created' as const, job: found, isNext: false };
    });
    if (created.outcome !== 'created') await forget();
    return created;
  }

  async function cancel(tenantId: string, job: string): Promise<JobView> {
    const cancelled = isJobId(job) ? await store.cancel(tenantId, job) : undefined;
    if (!cancelled || hasExpired(cancelled)) throw noSuchJob();
    parts.onCancelled?.(tenantId, job);
    if (cancelled.finished_at !== null)
      await clearInputs({ store, results }, [cancelled]).catch(() => undefined);
    return view(cancelled);
  }

  function answerOf({ job, index, state, result, text, error }: Item): ItemAnswer {
    if (state === 'failed') return { state, error: toItemError(error) };
    if (state !== 'done' || !result) return { state: state === 'done' ? 'running' : state };
    const name = resultName({ job, index }, result.attempt);
    async function read(start: number, end: number): Promise<Buffer> {
      if (text !== undefined) return Buffer.from(text).subarray(start, end);
      const bytes = await results.get(name, { start, end });
      // The job was being forgotten meanwhile.
      if (!bytes) throw noSuchJob();
      return bytes;
    }
    return { state, result, stored: { size: result.bytes, read } };
  }

  return {
    /** Throws where no job can be made in this process, such as where no other one would see its files. */
    requireOpen,

    /** Rejects with `conflict` where the idempotency key was used for another request. */
    async create(request: JobRequest): Promise<{ job: JobView; replayed: boolean }> {
      requireOpen();
      const created = await make(createJobId(), request);
      if (created.outcome === 'conflict') {
        const message = 'This Idempotency-Key was used for another request. Send another one with this.';
        throw new GatewayError('conflict', { message });
      }
      if (created.outcome === 'created') parts.onCreated?.(created.job, created.isNext);
      return { job: view(created.job), replayed: created.outcome === 'replayed' };
    },

    async job(tenantId: string, job: string): Promise<JobView> {
      return view(await find(tenantId, job));
    },

    async list(tenantId: string, page: JobsPage) {
      const { rows, ...ways } = await store.jobs(tenantId, { ...page, endedAfter: endedAfter() });
      return { jobs: rows.map(view), ...ways };
    },

    async items(tenantId: string, job: string, page: { limit: number; after?: number }) {
      await find(tenantId, job);
      const { rows, next } = await store.items(job, page);
      return { items: rows.map(itemView), next };
    },

    async answer(tenantId: string, job: string, index: number): Promise<ItemAnswer & { service: string }> {
      const { service, total } = await find(tenantId, job);
      const item = index < total ? await store.item({ job, index }) : undefined;
      if (!item) throw noSuchItem();
      return { service, ...answerOf(item) };
    },

    cancel,

    /** Cancels what waits, or forgets a job that has ended, with its results. Gives it as it was. */
    async delete(tenantId: string, job: string): Promise<JobView> {
      const found = await find(tenantId, job);
      if (found.finished_at === null) return cancel(tenantId, job);
      await forgetJob({ store, results }, job);
      return view(found);
    },
  };
}

/** The files of a request by the names under which its items will look for them. */
function* filesOf(job: string, { files, sharedFiles }: JobRequest): Generator<[string, Uint8Array]> {
  for (const [field, bytes] of sharedFiles)
    yield [inputName({ job, index: 0 }, { field, shared: true }), bytes];
  for (const [index, ofItem] of files.entries()) {
    for (const [field, bytes] of ofItem) yield [inputName({ job, index }, { field }), bytes];
  }
}

/** What rows of a job and of an item take beside their content, roughly: so a bound of bytes is one of their number too. */
const bytesPerJob = 64 * 1024;
const bytesPerItem = 1024;

/** Bytes that a job takes until its end, near enough for a bound: its texts and its files. */
function heldBytes({ inputs, textBytes, files, sharedFiles }: JobRequest): number {
  let bytes = bytesPerJob + inputs.length * bytesPerItem + textBytes;
  for (const [name, value] of inputs[0]?.fields ?? []) bytes += name.length + value.length;
  for (const each of [sharedFiles, ...files]) for (const { byteLength } of each.values()) bytes += byteLength;
  return bytes;
}

function jobView(job: Job, ttlSeconds: number): JobView {
  const { id, service, total, done, failed, cancelled, created_at, finished_at } = job;
  const iso = (time: number) => new Date(time).toISOString();
  return {
    ...{ id, service, state: jobState(job), total, done, failed, cancelled, created_at: iso(created_at) },
    finished_at: finished_at === null ? null : iso(finished_at),
    expires_at: finished_at === null ? null : iso(finished_at + ttlSeconds * 1000),
  };
}

function itemView({ job, index, state, result, error }: Item): ItemView {
  return {
    index,
    state,
    ...(error && { error }),
    ...(result && {
      result: { type: result.type, bytes: result.bytes, url: `/jobs/${job}/items/${index}` },
    }),
  };
}

/** The error of an item, as it would have been answered. It is no fault of the request for it. */
function toItemError(error: ItemError | undefined): GatewayError {
  // A later gateway may know codes that this one does not.
  const code = error && Object.hasOwn(errorTable, error.code) ? (error.code as ErrorCode) : 'internal';
  const { details, message } = error ?? {};
  const said = { ...(message !== undefined && { message }), ...(details && { details: [...details] }) };
  return new GatewayError(code, { ...said, past: true });
}

/** One answer for jobs that never were, are another tenant's, or have been forgotten: it does not say which. */
export function noSuchJob(): GatewayError {
  return new GatewayError('not_found', {
    message: 'You have no such job. Jobs and their results are forgotten some time after their end.',
  });
}

export function noSuchItem(): GatewayError {
  return new GatewayError('not_found', { message: 'This job has no such item.' });
}
