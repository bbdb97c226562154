import type { ItemView, JobView } from './jobs.js';
import { type Item, type Job, jobState } from './model.js';

/** A job as its tenant sees it. */
export function jobView(job: Job, ttlSeconds: number): JobView {
  const { id, service, total, done, failed, cancelled, created_at, finished_at } = job;
  return {
    id,
    service,
    state: jobState(job),
    total,
    done,
    failed,
    cancelled,
    created_at: iso(created_at),
    finished_at: finished_at === null ? null : iso(finished_at),
    expires_at: finished_at === null ? null : iso(finished_at + ttlSeconds * 1000),
  };
}

/** An item likewise; its result stands at a path of its own. */
export function itemView({ job, index, state, result, error }: Item): ItemView {
  return {
    index,
    state,
    ...(error ? { error } : {}),
    ...(result
      ? { result: { type: result.type, bytes: result.bytes, url: `/jobs/${job}/items/${index}` } }
      : {}),
  };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
