import { GatewayError } from '../../../gateway/errors.js';
import type { ItemView, JobView } from '../../../gateway/jobs/jobs.js';
import type { SiteOptions } from '../../../gateway/site/options.js';

/** A tenant's job with its items, as the site is given them. */
export interface SampleJob {
  tenantId: string;
  job: JobView;
  items: ItemView[];
}

/** Jobs that are just these; one that is cancelled has ended. */
export function jobsOf(samples: readonly SampleJob[]): SiteOptions['jobs'] {
  function find(tenantId: string, id: string): SampleJob {
    const found = samples.find((each) => each.tenantId === tenantId && each.job.id === id);
    if (!found) throw new GatewayError('not_found');
    return found;
  }
  return {
    async list(tenantId, { limit, after }) {
      const own = samples.filter((each) => each.tenantId === tenantId).map(({ job }) => job);
      const from = after === undefined ? 0 : own.findIndex(({ id }) => id === after) + 1;
      const jobs = own.slice(from, from + limit);
      return { jobs, next: from + limit < own.length ? (jobs.at(-1)?.id ?? null) : null };
    },
    job: async (tenantId, id) => find(tenantId, id).job,
    async items(tenantId, id, { limit, after = -1 }) {
      const left = find(tenantId, id).items.filter(({ index }) => index > after);
      const items = left.slice(0, limit);
      return { items, next: left.length > limit ? (items.at(-1)?.index ?? null) : null };
    },
    async cancel(tenantId, id) {
      const { job } = find(tenantId, id);
      const waiting = job.total - job.done - job.failed;
      Object.assign(job, { state: 'cancelled', cancelled: waiting, finished_at: new Date().toISOString() });
      return job;
    },
  };
}

export function sampleJob(
  tenantId: string,
  changes: Partial<JobView> = {},
  items: ItemView[] = [],
): SampleJob {
  const job: JobView = {
    id: 'job_4fGhJ2kLm9pQ',
    service: 'media/add-border',
    state: 'running',
    total: 40,
    done: 10,
    failed: 2,
    cancelled: 0,
    created_at: '2026-11-01T10:00:00.000Z',
    finished_at: null,
    expires_at: null,
    ...changes,
  };
  return { tenantId, job, items };
}

/** One item of each kind. */
export const sampleItems: ItemView[] = [
  {
    index: 0,
    state: 'done',
    result: { type: 'image/png', bytes: 90_210, url: '/jobs/job_4fGhJ2kLm9pQ/items/0' },
  },
  {
    index: 1,
    state: 'failed',
    error: {
      code: 'invalid_input',
      message: 'The input is not valid; see details.',
      details: [
        {
          field: 'width',
          problem: 'must be a whole number of pixels from 0 to 5000, but is the string "abc"',
        },
      ],
    },
  },
  {
    index: 2,
    state: 'failed',
    error: { code: 'source_timeout', message: 'The server behind the url did not deliver in time.' },
  },
  { index: 3, state: 'running' },
  { index: 4, state: 'waiting' },
  { index: 5, state: 'cancelled' },
];
