import type { Answer } from '../../pool/answer.js';
import { GatewayError, toGatewayError } from '../errors.js';
import { scopeAllows, type TenantLimits } from '../keys/model.js';
import type { EffectiveLimits, Limiter } from '../limits/limiter.js';
import type { Helper } from '../plugins/registry.js';
import type { Call, Caller, Stage } from './stage.js';

/** Checks scope, rate, then quota. All answers from here on have the RateLimit fields; failed ones cost no quota. */
export function limit(
  helper: Helper,
  limiter: Pick<Limiter, 'take'>,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, { limits: EffectiveLimits }> {
  return async function limit({ state, caller: { tenant, scopes } }, next) {
    const limits = limitsOf(tenant.limits);
    const verdict = await limiter.take({ id: tenant.id, limits });
    state.headers = verdict.headers;
    if (!scopeAllows(scopes, helper.id)) {
      // Counted like every refused call, so that its answer has the fields too; the scope comes before the limits.
      if (verdict.allowed) verdict.settle(403);
      throw new GatewayError('scope_denied');
    }
    if (!verdict.allowed) throw new GatewayError(verdict.code, { retryAfter: verdict.retryAfter });
    let answer: Answer;
    try {
      answer = await next({ limits });
    } catch (error) {
      verdict.settle(toGatewayError(error).status);
      throw error;
    }
    // The work is done, also for a client that went away.
    verdict.settle(200);
    return answer;
  };
}

/** Checks the tenant's rate for a request that is no call of a helper and costs no quota. */
export function limitRate(
  limiter: Limiter,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, object> {
  return async function limitRate({ state, caller: { tenant } }, next) {
    const limits = { ...limitsOf(tenant.limits), monthlyQuota: null };
    const verdict = await limiter.take({ id: tenant.id, limits });
    state.headers = verdict.headers;
    if (!verdict.allowed) throw new GatewayError(verdict.code, { retryAfter: verdict.retryAfter });
    return next({});
  };
}
