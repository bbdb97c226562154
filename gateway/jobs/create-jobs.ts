import { DatabaseError } from '../database/database-error.js';
import { GatewayError } from '../errors.js';
import { noSuchItem, noSuchJob } from './gone.js';
import { heldBytes } from './held-bytes.js';
import { toItemError } from './item-error.js';
import { createJobId } from './job-id.js';
import type { ItemAnswer, JobRequest, Jobs } from './jobs.js';
import type { Item, Job } from './model.js';
import { putFiles } from './put-files.js';
import { type ResultStore, resultName } from './results/result-store.js';
import { clearInputs, forgetJob } from './runner/forget-jobs.js';
import type { Created, JobStore } from './store/job-store.js';
import { type JobBytes, requireRoom } from './store/room.js';
import { itemView, jobView } from './views.js';

export interface JobsParts {
  store: Pick<
    JobStore,
    'create' | 'made' | 'held' | 'job' | 'jobs' | 'items' | 'item' | 'cancel' | 'remove' | 'cleared'
  >;
  results: Pick<ResultStore, 'put' | 'get' | 'removeAll'>;
  /** How long a job is kept after its end. */
  ttlSeconds: number;
  /** Ms since 1970. */
  now?: () => number;
  /** What a tenant's jobs may hold. */
  most: JobBytes;
  /** Rejects where there is no room for inputs of so many bytes, whose files are put already. */
  requireDisk?: (bytes: number) => Promise<void>;
  /** Called when a tenant has a new job; `isNext` where no other one of its has items that are still to be handed to the queue. */
  onCreated?: (job: Pick<Job, 'id' | 'tenant_id' | 'total'>, isNext: boolean) => void;
  /** Called when a job was called off. */
  onCancelled?: (tenantId: string, job: string) => void;
  /** Why no job can be made here, asked each time; any can by default. */
  refusal?: () => GatewayError | undefined;
  /** The same, found out anew; asked when all is there but the job. */
  lastRefusal?: () => Promise<GatewayError | undefined>;
}

const id = /^job_[0-9A-Za-z]{1,40}$/;

/** Jobs over their stores. Files are put before the job is made: what works on it finds them, whoever is killed in between. */
export function createJobs(parts: JobsParts): Jobs {
  const { store, results, ttlSeconds, most, requireDisk, onCreated, onCancelled, now = Date.now } = parts;
  const view = (job: Job) => jobView(job, ttlSeconds);

  /** Jobs end at the second that they name, whenever their rows are removed. */
  const endedAfter = () => now() - ttlSeconds * 1_000;
  const hasExpired = ({ finished_at }: Job) => finished_at !== null && finished_at <= endedAfter();

  function requireOpen(): void {
    const error = parts.refusal?.();
    if (error) throw error;
  }

  async function find(tenantId: string, job: string): Promise<Job> {
    // What cannot be an id is not looked up: PostgreSQL refuses some of it.
    const found = id.test(job) ? await store.job(tenantId, job) : undefined;
    if (!found || hasExpired(found)) throw noSuchJob();
    return found;
  }

  async function make(job: string, request: JobRequest): Promise<Created> {
    const { tenantId, keyId, service, webhookUrl, inputs, idempotency } = request;
    const hasFiles = request.sharedFiles.size > 0 || request.files.length > 0;
    const forget = async () => (hasFiles ? results.removeAll(job).catch(() => undefined) : undefined);
    const forgetAndThrow = async (error: unknown) => {
      await forget();
      throw error;
    };
    // Before room is asked for: what the same request has made may be what takes it.
    const before = idempotency && (await store.made(tenantId, idempotency, endedAfter()));
    if (before) return before;
    const bytes = heldBytes(request);
    // Before its files are put; all is counted where the job is made.
    if (hasFiles) requireRoom(await store.held(tenantId), bytes, most);
    await putFiles(job, request, results)
      .then(async () => {
        const error = await parts.lastRefusal?.();
        if (error) throw error;
        await requireDisk?.(bytes);
      })
      .catch(forgetAndThrow);
    const made = {
      id: job,
      tenant_id: tenantId,
      key_id: keyId,
      service,
      webhook_url: webhookUrl ?? null,
      bytes,
      files: hasFiles,
    };
    const asked = { ...made, ...(idempotency ? { idempotency } : {}) };
    const created = await store.create(asked, inputs, most).catch(async (error) => {
      if (!(error instanceof DatabaseError)) return forgetAndThrow(error);
      // Its connection may be lost when all is done: the job is there then, or will be, and needs its files. Else they are swept.
      const found = await store.job(tenantId, job).catch(() => undefined);
      if (!found) throw error;
      return { outcome: 'created' as const, job: found, isNext: false };
    });
    if (created.outcome !== 'created') await forget();
    return created;
  }

  return {
    requireOpen,
    async create(request) {
      requireOpen();
      const job = createJobId();
      const created = await make(job, request);
      if (created.outcome === 'conflict') {
        const message = 'This Idempotency-Key was used for another request. Send another one with this.';
        throw new GatewayError('conflict', { message });
      }
      if (created.outcome === 'created') onCreated?.(created.job, created.isNext);
      return { job: view(created.job), replayed: created.outcome === 'replayed' };
    },

    async job(tenantId, job) {
      return view(await find(tenantId, job));
    },

    async list(tenantId, page) {
      const { rows, next } = await store.jobs(tenantId, { ...page, endedAfter: endedAfter() });
      return { jobs: rows.map(view), next };
    },

    async items(tenantId, job, page) {
      await find(tenantId, job);
      const { rows, next } = await store.items(job, page);
      return { items: rows.map(itemView), next };
    },

    async answer(tenantId, job, index) {
      const { service, total } = await find(tenantId, job);
      const item = index < total ? await store.item({ job, index }) : undefined;
      if (!item) throw noSuchItem();
      return { service, ...answerOf(item) };
    },

    async cancel(tenantId, job) {
      const cancelled = id.test(job) ? await store.cancel(tenantId, job) : undefined;
      if (!cancelled || hasExpired(cancelled)) throw noSuchJob();
      onCancelled?.(tenantId, job);
      if (cancelled.finished_at !== null)
        await clearInputs({ store, results }, [cancelled]).catch(() => undefined);
      return view(cancelled);
    },

    async delete(tenantId, job) {
      const found = await find(tenantId, job);
      if (found.finished_at === null) return this.cancel(tenantId, job);
      await forgetJob({ store, results }, job);
      return view(found);
    },
  };

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
}
