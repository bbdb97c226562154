import { type Answer, jsonAnswer } from '../../../pool/answer.js';
import { serializeByKey } from '../../../pool/concurrency.js';
import type { QueryText } from '../../../schemas/input/parse.js';
import { GatewayError } from '../../errors.js';
import { announcedBytes } from '../../http/body.js';
import type { InboundBudget } from '../../http/inbound-budget.js';
import { scopeAllows, type TenantLimits } from '../../keys/model.js';
import type { KeyVerifier } from '../../keys/verifier.js';
import type { EffectiveLimits, Limiter } from '../../limits/limiter.js';
import type { Tracing } from '../../observability/tracing.js';
import { authenticate } from '../../pipeline/authenticate.js';
import { limitRate } from '../../pipeline/limit.js';
import {
  type Call,
  type Caller,
  type CallMiddleware,
  from,
  type HttpCall,
  type LastStage,
  type Stage,
} from '../../pipeline/stage.js';
import { type ItemAnswer, type Jobs, type JobView, noSuchItem, noSuchJob } from '../jobs.js';
import { emptyQueryProblems, itemPage, jobPage, readPage, requireEmptyQuery } from './fields.js';
import { type JobPartLimits, type RequestFound, readRequest } from './read-request.js';
import { digestOf, type JobRules, readIdempotencyKey, validateRequest } from './validate-request.js';

export const jobsPath = '/jobs';

interface JobApiParts extends JobRules {
  tracing?: Tracing | undefined;
  jobs: Jobs;
  keys: Pick<KeyVerifier, 'verify'>;
  limiter: Limiter;
  limitsOf: (own: TenantLimits) => EffectiveLimits;
  inboundBudget: InboundBudget;
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
  const { jobs, keys, limiter, limitsOf, inboundBudget, bodyLimits, maxJobBytes, tracing } = parts;
  const asking = () =>
    from<HttpCall>(tracing).through(authenticate(keys)).through(limitRate(limiter, limitsOf));
  const one = `${jobsPath}/:id`;
  const item = `${one}/items/:index`;
  const create = from<HttpCall>(tracing)
    .through(authenticate(keys))
    .through(limitCreation(limiter, limitsOf))
    .through(requireOpen(jobs))
    .through(readRequest(inboundBudget, { ...bodyLimits, maxJobBytes }))
    .to(createJob(jobs, parts));
  const onePage = onePageAtATime();
  const list = asking().through(readPage(jobPage)).through(onePage).to(listJobs(jobs));
  const show = asking().through(readPage(itemPage)).through(onePage).to(showJob(jobs));
  const remove = asking().through(requireEmptyQuery()).to(deleteJob(jobs));
  const answer = asking().through(requireEmptyQuery()).to(answerItem(jobs));
  return [
    routeOf('POST', jobsPath, create),
    routeOf('GET', jobsPath, list),
    routeOf('GET', one, show),
    routeOf('DELETE', one, remove),
    routeOf('GET', item, answer),
  ];
}

/** One tenant's pages are made one after another, so that many requests of one for long pages hold up no other. */
function onePageAtATime(): Stage<HttpCall & { caller: Caller }, object> {
  const inOrder = serializeByKey();
  return function awaitTurn({ caller }, next) {
    return inOrder(caller.tenant.id, async () => next({}));
  };
}

function routeOf(
  method: JobRoute['method'],
  path: string,
  stages: (call: HttpCall) => Promise<Answer>,
): JobRoute {
  async function handle(ctx: Parameters<CallMiddleware>[0]): Promise<void> {
    const { state } = ctx;
    if (state.trace) state.trace.route = path;
    const bodyBytes = method === 'POST' ? announcedBytes(ctx.req.headers) : 0;
    state.result = await stages({ ctx, state, bodyBytes });
  }
  return { path, method, handle };
}

/**
 * Holds a request for a job against its tenant's rate, and refuses it where the quota is used up already: its items would fail one
 * by one. It costs no quota itself, they do.
 */
function limitCreation(
  limiter: Limiter,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, object> {
  return async function limitCreation({ state, caller: { tenant } }, next) {
    const verdict = await limiter.take({ id: tenant.id, limits: limitsOf(tenant.limits) });
    state.headers = verdict.headers;
    if (!verdict.allowed) throw new GatewayError(verdict.code, { retryAfter: verdict.retryAfter });
    // As if it had failed: what was reserved for it is free again.
    verdict.settle(400);
    return next({});
  };
}

/** Ends a request at once where no job can be made here: its body is not read then. */
function requireOpen(jobs: Pick<Jobs, 'requireOpen'>): Stage<HttpCall, object> {
  return function requireOpen(_call, next) {
    jobs.requireOpen();
    return next({});
  };
}

/** Makes the job that was asked for: 202, whether it is made now or was when the same request came before. */
function createJob(
  jobs: Pick<Jobs, 'create'>,
  rules: JobRules,
): LastStage<HttpCall & RequestFound & { caller: Caller; query: QueryText }> {
  return async function createJob({
    ctx,
    state,
    caller,
    query,
    requested,
    yieldToEventLoop,
  }): Promise<Answer> {
    const problems = [...emptyQueryProblems(query), ...requested.problems];
    const key = readIdempotencyKey(ctx.headers['idempotency-key'] as string | undefined, (problem) =>
      problems.push(problem),
    );
    const request = validateRequest({ ...requested, problems }, caller, rules);
    const idempotency =
      key === undefined ? {} : { idempotency: { key, digest: await digestOf(request, yieldToEventLoop) } };
    const { job, replayed } = await jobs.create({
      ...request,
      ...idempotency,
      tenantId: caller.tenant.id,
      keyId: caller.keyId,
    });
    state.headers = {
      ...state.headers,
      location: `/jobs/${job.id}`,
      ...(replayed ? { 'idempotency-replayed': 'true' } : {}),
    };
    state.trace?.set({ 'helper_gateway.job_id': job.id });
    ctx.status = 202;
    return jsonAnswer(job);
  };
}

type KeyedCall = HttpCall & { caller: Caller };

/** Pages of the store that are looked through for one of the answer, at most. */
const mostLooks = 10;

/**
 * The tenant's jobs, the newest first: those of the helpers that the key may call, as if there were no others. A key that may
 * see few among many gets short pages; `next` says whether more may come.
 */
function listJobs(
  jobs: Pick<Jobs, 'list'>,
): LastStage<KeyedCall & { page: { limit: number; after?: string } }> {
  return async function listJobs({ caller, page }): Promise<Answer> {
    const seen: JobView[] = [];
    let next: string | null = page.after ?? null;
    for (let looks = 0; looks < mostLooks; looks += 1) {
      const limit = page.limit - seen.length;
      const found = await jobs.list(caller.tenant.id, { limit, ...(next === null ? {} : { after: next }) });
      seen.push(...found.jobs.filter(({ service }) => scopeAllows(caller.scopes, service)));
      next = found.next;
      if (next === null || seen.length === page.limit) break;
    }
    return jsonAnswer({ jobs: seen, next });
  };
}

function showJob(
  jobs: Pick<Jobs, 'job' | 'items'>,
): LastStage<KeyedCall & { page: { limit: number; after?: number } }> {
  return async function showJob(call): Promise<Answer> {
    const job = await visibleJob(jobs, call);
    const { items, next } = await jobs.items(call.caller.tenant.id, job.id, call.page);
    return jsonAnswer({ ...job, items, next });
  };
}

/** Cancels what waits, while what runs is finished; forgets a job that has ended. */
function deleteJob(jobs: Pick<Jobs, 'job' | 'delete'>): LastStage<KeyedCall> {
  return async function deleteJob(call): Promise<Answer> {
    const { id } = await visibleJob(jobs, call);
    return jsonAnswer(await jobs.delete(call.caller.tenant.id, id));
  };
}

/** The answer of one item, as a direct call of the helper would have been given it; its error likewise. */
function answerItem(jobs: Pick<Jobs, 'job' | 'answer'>): LastStage<KeyedCall> {
  return async function answerItem(call): Promise<Answer> {
    const { ctx, state, caller } = call;
    // Before anything is said of its items: their number would disclose the job.
    const { id } = await visibleJob(jobs, call);
    const { index = '' } = ctx.params;
    if (!/^(?:0|[1-9]\d{0,8})$/.test(index)) throw noSuchItem();
    const answer = await jobs.answer(caller.tenant.id, id, Number(index));
    if (answer.state !== 'done' && answer.state !== 'failed') throw notEnded(answer.state);
    state.service = answer.service;
    return answerOf(answer, state);
  };
}

function answerOf(
  answer: Extract<ItemAnswer, { state: 'done' | 'failed' }>,
  state: KeyedCall['state'],
): Answer {
  if (answer.state === 'failed') throw answer.error;
  const { kind, type, headers, dryrun } = answer.result;
  state.dryrun = dryrun;
  state.stored = answer.stored;
  const bytes = new Uint8Array();
  return kind === 'json' ? { kind, bytes } : { kind, bytes, type, ...(headers ? { headers } : {}) };
}

/** A client that polls sees by the status alone: 409 until there is an answer, 404 where there will never be one. */
function notEnded(state: 'waiting' | 'running' | 'cancelled'): GatewayError {
  if (state === 'cancelled') {
    return new GatewayError('not_found', { message: 'This item was cancelled: it has no answer.' });
  }
  const message = `This item has no answer yet: it is ${state}.`;
  return new GatewayError('conflict', { message, retryAfter: 1 });
}

async function visibleJob(jobs: Pick<Jobs, 'job'>, { ctx, caller }: KeyedCall): Promise<JobView> {
  const job = await jobs.job(caller.tenant.id, ctx.params.id ?? '');
  if (!scopeAllows(caller.scopes, job.service)) throw noSuchJob();
  return job;
}
