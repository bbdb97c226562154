import type { Answer } from '../../../pool/answer.js';
import { after, type Now } from '../../after.js';
import { oneAtATimeEach } from '../../at-most.js';
import { announcedBytes } from '../../http/body/text-body.js';
import type { Arrivals } from '../../http/flow/arrivals.js';
import type { TenantLimits } from '../../keys/model.js';
import type { KeyVerifier } from '../../keys/verifier.js';
import type { Limiter } from '../../limits/limiter.js';
import type { EffectiveLimits } from '../../limits/tenant-limits.js';
import { authenticate } from '../../pipeline/authenticate.js';
import { limitRate } from '../../pipeline/limit-rate.js';
import { from, type HttpCall, type Stage } from '../../pipeline/stage.js';
import type { Caller, CallMiddleware } from '../../pipeline/state.js';
import type { Tracing } from '../../tracing/tracing.js';
import type { Jobs } from '../jobs.js';
import { createJob, requireOpen } from './create-job.js';
import type { JobPartLimits } from './job-parts.js';
import type { JobRules } from './judge-request.js';
import { limitCreation } from './limit-creation.js';
import { itemPage, jobPage, readNothing, readPage } from './queries.js';
import { readRequest } from './read-request.js';
import { answerItem, deleteJob, listJobs, showJob } from './see-jobs.js';

export const jobsPath = '/jobs';

export interface JobApiParts extends JobRules {
  /** Absent where calls are not followed. */
  tracing?: Tracing | undefined;
  jobs: Jobs;
  keys: Pick<KeyVerifier, 'verify'>;
  limiter: Limiter;
  limitsOf: (own: TenantLimits) => EffectiveLimits;
  arrivals: Arrivals;
  bodyLimits: Omit<JobPartLimits, 'maxJobBytes'>;
  maxJobBytes: number;
}

/** A path of the API of jobs, with parameters as the router writes them. */
export interface JobRoute {
  path: string;
  method: 'GET' | 'POST' | 'DELETE';
  handle: CallMiddleware;
}

/**
 * The API of jobs. A key opens it, and no signed url; each request counts in the tenant's rate and none in its quota, which is
 * for the items.
 */
export function jobRoutes(parts: JobApiParts): JobRoute[] {
  const { jobs, keys, limiter, limitsOf, arrivals, bodyLimits, maxJobBytes, tracing } = parts;
  const asking = () =>
    from<HttpCall>(tracing).through(authenticate(keys)).through(limitRate(limiter, limitsOf));
  const one = `${jobsPath}/:id`;
  const item = `${one}/items/:index`;
  const create = from<HttpCall>(tracing)
    .through(authenticate(keys))
    .through(limitCreation(limiter, limitsOf))
    .through(requireOpen(jobs))
    .through(readRequest(arrivals, { ...bodyLimits, maxJobBytes }))
    .to(createJob(jobs, parts));
  const awaitTurn = createTurns();
  const list = asking().through(readPage(jobPage)).through(awaitTurn).to(listJobs(jobs));
  const show = asking().through(readPage(itemPage)).through(awaitTurn).to(showJob(jobs));
  const remove = asking().through(readNothing()).to(deleteJob(jobs));
  const answer = asking().through(readNothing()).to(answerItem(jobs));
  return [
    { path: jobsPath, method: 'POST', handle: handle(jobsPath, create) },
    { path: jobsPath, method: 'GET', handle: handle(jobsPath, list) },
    { path: one, method: 'GET', handle: handle(one, show) },
    { path: one, method: 'DELETE', handle: handle(one, remove) },
    { path: item, method: 'GET', handle: handle(item, answer) },
  ];
}

/** One tenant's pages are made one after another, so that many requests of one for long pages hold up no other. */
function createTurns(): Stage<HttpCall & { caller: Caller }, object> {
  const inTurn = oneAtATimeEach();
  return function awaitTurn({ caller }, next) {
    return inTurn(caller.tenant.id, async () => next({}));
  };
}

function handle(path: string, stages: (call: HttpCall) => Now<Answer>): CallMiddleware {
  return function handle(ctx) {
    const { state } = ctx;
    if (state.trace) state.trace.route = path;
    const bodyBytes = ctx.method === 'POST' ? announcedBytes(ctx.req.headers) : 0;
    return after(stages({ ctx, state, bodyBytes }), (result) => {
      state.result = result;
    });
  };
}
