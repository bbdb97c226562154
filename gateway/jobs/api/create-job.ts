import { type Answer, jsonAnswer } from '../../../pool/answer.js';
import type { QueryText } from '../../../schemas/input/urlencoded.js';
import type { HttpCall, LastStage, Stage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import type { Jobs } from '../jobs.js';
import { digestOf, readIdempotencyKey } from './idempotency.js';
import { type JobRules, judgeRequest } from './judge-request.js';
import { nothingOf } from './queries.js';
import type { RequestFound } from './read-request.js';

/** Ends a request at once where no job can be made here: its body is not read then. */
export function requireOpen(jobs: Pick<Jobs, 'requireOpen'>): Stage<HttpCall, object> {
  return function requireOpen(_call, next) {
    jobs.requireOpen();
    return next({});
  };
}

/** Makes the job that was asked for: 202, whether it is made now or was when the same request came before. */
export function createJob(
  jobs: Pick<Jobs, 'create'>,
  rules: JobRules,
): LastStage<HttpCall & RequestFound & { caller: Caller; query: QueryText }> {
  return async function createJob({ ctx, state, caller, query, asked, breathe }): Promise<Answer> {
    const problems = [...nothingOf(query), ...asked.problems];
    const key = readIdempotencyKey(ctx.headers['idempotency-key'] as string | undefined, (problem) =>
      problems.push(problem),
    );
    const request = judgeRequest({ ...asked, problems }, caller, rules);
    const idempotency =
      key === undefined ? {} : { idempotency: { key, digest: await digestOf(request, breathe) } };
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
