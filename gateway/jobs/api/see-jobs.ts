import { type Answer, jsonAnswer } from '../../../pool/answer.js';
import { GatewayError } from '../../errors.js';
import { scopeAllows } from '../../keys/scopes.js';
import type { HttpCall, LastStage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import { noSuchItem, noSuchJob } from '../gone.js';
import type { ItemAnswer, Jobs, JobView } from '../jobs.js';

type KeyedCall = HttpCall & { caller: Caller };

/** Pages of the store that are looked through for one of the answer, at most. */
const mostLooks = 10;

/**
 * The tenant's jobs, the newest first: those of the helpers that the key may call, as if there were no others. A key that may
 * see few among many gets short pages; `next` says whether more may come.
 */
export function listJobs(
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

/** A job with a page of its items. */
export function showJob(
  jobs: Pick<Jobs, 'job' | 'items'>,
): LastStage<KeyedCall & { page: { limit: number; after?: number } }> {
  return async function showJob(call): Promise<Answer> {
    const job = await visibleJob(jobs, call);
    const { items, next } = await jobs.items(call.caller.tenant.id, job.id, call.page);
    return jsonAnswer({ ...job, items, next });
  };
}

/** Cancels what waits, while what runs is finished; forgets a job that has ended. */
export function deleteJob(jobs: Pick<Jobs, 'job' | 'delete'>): LastStage<KeyedCall> {
  return async function deleteJob(call): Promise<Answer> {
    const { id } = await visibleJob(jobs, call);
    return jsonAnswer(await jobs.delete(call.caller.tenant.id, id));
  };
}

/** The answer of one item, as a direct call of the helper would have been given it; its error likewise. */
export function answerItem(jobs: Pick<Jobs, 'job' | 'answer'>): LastStage<KeyedCall> {
  return async function answerItem(call): Promise<Answer> {
    const { ctx, state, caller } = call;
    // Before anything is said of its items: that there are so many tells of the job.
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

/** Whoever polls can tell by the status alone: 409 until there is an answer, 404 where there will never be one. */
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
