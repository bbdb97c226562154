import { randomBase62 } from '../../keys/base62.js';
import { type Job, jobState } from '../model.js';
import type { DeliveryRow } from '../webhooks/tables.js';

/** What a job's webhook is told of its end, as Standard Webhooks has it; undefined where there is none to tell. */
export function endNotice(job: Job, now: number): Omit<DeliveryRow, 'due_at' | 'attempts'> | undefined {
  const { id, tenant_id, webhook_url, service, total, done, failed, cancelled } = job;
  if (webhook_url === null) return undefined;
  const state = jobState(job);
  const payload = JSON.stringify({
    type: `job.${state}`,
    timestamp: new Date(now).toISOString(),
    data: {
      ...{ id, service, state, total, done, failed, cancelled },
      created_at: new Date(job.created_at).toISOString(),
      finished_at: new Date(job.finished_at ?? now).toISOString(),
    },
  });
  return { id: `msg_${randomBase62(22)}`, tenant_id, url: webhook_url, payload, created_at: now };
}
