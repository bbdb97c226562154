import type { Answer } from '../../pool/answer.js';
import { GatewayError, toGatewayError } from '../errors.js';
import { noKeyLimits, scopeAllows, type TenantLimits } from '../keys/model.js';
import type { EffectiveLimits, Limiter, LimitRefusal } from '../limits/limiter.js';
import type { Helper } from '../plugins/registry.js';
import type { Call, Caller, Stage } from './stage.js';

/**
 * Checks scope, rate, quota and CPU budget, of the key and of the tenant. All answers from here on have the RateLimit fields; failed ones
 * cost no quota. Work that was done is charged, whatever came of it.
 */
export function limit(
  helper: Helper,
  limiter: Pick<Limiter, 'take'>,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, { limits: EffectiveLimits }> {
  return async function limit({ state, caller: { tenant, keyId, keyLimits, scopes } }, next) {
    const limits = limitsOf(tenant.limits);
    const verdict = await limiter.take({ id: tenant.id, limits, key: { id: keyId, limits: keyLimits } });
    const mayCall = scopeAllows(scopes, helper.id);
    if (!verdict.allowed) {
      state.headers = verdict.headers;
      // The scope comes before the limits.
      throw mayCall ? toRefusal(verdict) : new GatewayError('scope_denied');
    }
    let answer: Answer;
    try {
      // Counted like every refused call, so that its answer has the fields too.
      if (!mayCall) throw new GatewayError('scope_denied');
      answer = await next({ limits });
    } catch (error) {
      verdict.settle(toGatewayError(error).status);
      state.headers = verdict.charge(state.taskMs);
      throw error;
    }
    // The work is done, also for a client that went away.
    verdict.settle(200);
    state.headers = verdict.charge(state.taskMs);
    return answer;
  };
}

export function toRefusal({ code, message, retryAfter }: LimitRefusal): GatewayError {
  return new GatewayError(code, { message, retryAfter });
}

/** Checks the rates for a request that is no call of a helper and costs no quota. */
export function limitRate(
  limiter: Limiter,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, object> {
  return async function limitRate({ state, caller: { tenant, keyId, keyLimits } }, next) {
    const limits = { ...limitsOf(tenant.limits), monthlyQuota: null, monthlyCpuMs: null };
    const key = { id: keyId, limits: { ...noKeyLimits, rate: keyLimits.rate } };
    const verdict = await limiter.take({ id: tenant.id, limits, key });
    state.headers = verdict.allowed ? verdict.charge(0) : verdict.headers;
    if (!verdict.allowed) throw toRefusal(verdict);
    return next({});
  };
}
