import { type Answer, jsonAnswer } from '../../../pool/answer.js';
import { serializeByKey } from '../../../pool/concurrency.js';
import type { QueryText } from '../../../schemas/input/parse.js';
import { GatewayError } from '../../errors.js';
import { announcedBytes } from '../../http/body.js';
import type { InboundBudget } from '../../http/inbound-budget.js';
import type { MultipartLimits } from '../../http/multipart.js';
import { scopeAllows, type TenantLimits } from '../../keys/model.js';
import type { KeyVerifier } from '../../keys/verifier.js';
import type { EffectiveLimits, Limiter } from '../../limits/limiter.js';
import type { Tracing } from '../../observability/tracing.js';
import { authenticate } from '../../pipeline/authenticate.js';
import { limitRate, toRefusal } from '../../pipeline/limit.js';
import { type Caller, type CallMiddleware, from, type HttpCall, type Stage } from '../../pipeline/stage.js';
import { type Jobs, type JobView, noSuchItem, noSuchJob } from '../jobs.js';
import { emptyQueryProblems, itemPage, jobPage, readPage, requireEmptyQuery } from './fields.js';
import { type RequestFound, readRequest } from './read-request.js';
import { digestOf, type JobRules, readIdempotencyKey, validateRequest } from './validate-request.js';

export const jobsPath = '/jobs';

interface JobApiParts extends JobRules {
  tracing?: Tracing | undefined;
  jobs: Jobs;
  keys: Pick<KeyVerifier, 'verify'>;
  limiter: Limiter;
  limitsOf: (own: TenantLimits) => EffectiveLimits;
  inboundBudget: InboundBudget;
  bodyLimits: MultipartLimits;
  maxJobBytes: number;
}

/** A key opens it, and no signed url. A request counts in the tenant's rate; the quota is for the items. */
export function jobRoutes(parts: JobApiParts): JobRoute[] {
  const { jobs, keys, limiter, limitsOf, inboundBudget, bodyLimits, maxJobBytes, tracing } = parts;

  /** Applies the rate, and refuses a job where the quota is used up: its items would fail one by one. */
  const limitCreation: Stage<KeyedCall, object> = async ({ state, caller }, next) => {
    const { tenant, keyId, keyLimits } = caller;
    const key = { id: keyId, limits: keyLimits };
    const verdict = await limiter.take({ id: tenant.id, limits: limitsOf(tenant.limits), key });
    state.headers = verdict.allowed ? verdict.charge(0) : verdict.headers;
    if (!verdict.allowed) throw toRefusal(verdict);
    // As if it had failed: what was reserved for it is free again.
    verdict.settle(400);
    return next({});
  };

  /** Ends a request at once where no job can be made here: its body is not read then. */
  const requireOpen: Stage<HttpCall, object> = (_call, next) => {
    jobs.requireOpen();
    return next({});
  };

  const inOrder = serializeByKey();
  /** One tenant's pages are made one after another, so that many requests of one for long pages hold up no other. */
  const awaitTurn: Stage<KeyedCall, object> = ({ caller }, next) =>
    inOrder(caller.tenant.id, async () => next({}));

  /** Makes the job that was asked for: 202, whether it is made now or was when the same request came before. */
  async function createJob(call: KeyedCall & RequestFound & { query: QueryText }): Promise<Answer> {
    const { ctx, state, caller, query, requested, yieldToEventLoop } = call;
    const problems = [...emptyQueryProblems(query), ...requested.problems];
    const header = ctx.headers['idempotency-key'] as string | undefined;
    const key = readIdempotencyKey(header, (problem) => problems.push(problem));
    const request = await validateRequest({ ...requested, problems }, caller, parts);
    const idempotency =
      key === undefined ? {} : { idempotency: { key, digest: await digestOf(request, yieldToEventLoop) } };
    const by = { tenantId: caller.tenant.id, keyId: caller.keyId };
    const { job, replayed } = await jobs.create({ ...request, ...idempotency, ...by });
    state.headers = {
      ...state.headers,
      location: `/jobs/${job.id}`,
      ...(replayed ? { 'idempotency-replayed': 'true' } : {}),
    };
    state.trace?.set({ 'helper_gateway.job_id': job.id });
    ctx.status = 202;
    return jsonAnswer(job);
  }

  /** Those of the helpers that the key may call. Where these are few among many, pages are short. */
  async function listJobs({ caller, page }: KeyedCall & Paged<string>): Promise<Answer> {
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
  }

  async function visibleJob({ ctx, caller }: KeyedCall): Promise<JobView> {
    const job = await jobs.job(caller.tenant.id, ctx.params.id ?? '');
    if (!scopeAllows(caller.scopes, job.service)) throw noSuchJob();
    return job;
  }

  async function showJob(call: KeyedCall & Paged<number>): Promise<Answer> {
    const job = await visibleJob(call);
    const { items, next } = await jobs.items(call.caller.tenant.id, job.id, call.page);
    return jsonAnswer({ ...job, items, next });
  }

  /** Cancels what waits, while what runs is finished; forgets a job that has ended. */
  async function deleteJob(call: KeyedCall): Promise<Answer> {
    const { id } = await visibleJob(call);
    return jsonAnswer(await jobs.delete(call.caller.tenant.id, id));
  }

  /** The answer of one item, as a direct call of the helper would have been given it; its error likewise. */
  async function answerItem(call: KeyedCall): Promise<Answer> {
    const { ctx, state, caller } = call;
    // Before anything is said of its items: their number would disclose the job.
    const { id } = await visibleJob(call);
    const { index = '' } = ctx.params;
    if (!/^(?:0|[1-9]\d{0,8})$/.test(index)) throw noSuchItem();
    const answer = await jobs.answer(caller.tenant.id, id, Number(index));
    if (answer.state !== 'done' && answer.state !== 'failed') throw notEnded(answer.state);
    state.service = answer.service;
    if (answer.state === 'failed') throw answer.error;
    const { kind, type, headers, dryrun, cost } = answer.result;
    state.dryrun = dryrun;
    if (cost) state.cost = cost;
    state.stored = answer.stored;
    const bytes = new Uint8Array();
    return kind === 'json' ? { kind, bytes } : { kind, bytes, type, ...(headers ? { headers } : {}) };
  }

  const asking = () =>
    from<HttpCall>(tracing).through(authenticate(keys)).through(limitRate(limiter, limitsOf));
  const one = `${jobsPath}/:id`;
  const create = from<HttpCall>(tracing)
    .through(authenticate(keys))
    .through(limitCreation)
    .through(requireOpen)
    .through(readRequest(inboundBudget, { ...bodyLimits, maxJobBytes }))
    .to(createJob);
  return [
    routeOf('POST', jobsPath, create),
    routeOf('GET', jobsPath, asking().through(readPage(jobPage)).through(awaitTurn).to(listJobs)),
    routeOf('GET', one, asking().through(readPage(itemPage)).through(awaitTurn).to(showJob)),
    routeOf('DELETE', one, asking().through(requireEmptyQuery()).to(deleteJob)),
    routeOf('GET', `${one}/items/:index`, asking().through(requireEmptyQuery()).to(answerItem)),
  ];
}

type KeyedCall = HttpCall & { caller: Caller };
type Paged<After> = { page: { limit: number; after?: After } };

/** Pages of the store that are looked through for one of the answer, at most. */
const mostLooks = 10;

type JobRoute = ReturnType<typeof routeOf>;

/** A path of the API of jobs, with parameters as the router writes them. */
function routeOf(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  stages: (call: HttpCall) => Promise<Answer>,
) {
  async function handle(ctx: Parameters<CallMiddleware>[0]): Promise<void> {
    const { state } = ctx;
    if (state.trace) state.trace.route = path;
    const bodyBytes = method === 'POST' ? announcedBytes(ctx.req.headers) : 0;
    state.result = await stages({ ctx, state, bodyBytes });
  }
  return { path, method, handle };
}

/** A client that polls sees by the status alone: 409 until there is an answer, 404 where there will never be one. */
function notEnded(state: 'waiting' | 'running' | 'cancelled'): GatewayError {
  if (state === 'cancelled') {
    return new GatewayError('not_found', { message: 'This item was cancelled: it has no answer.' });
  }
  const message = `This item has no answer yet: it is ${state}.`;
  return new GatewayError('conflict', { message, retryAfter: 1 });
}
