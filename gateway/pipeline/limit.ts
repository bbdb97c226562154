import type { Answer } from '../../pool/answer.js';
import { GatewayError, toGatewayError } from '../errors.js';
import { scopeAllows, type TenantLimits } from '../keys/model.js';
import type { Limiter } from '../limits/limiter.js';
import type { EffectiveLimits } from '../limits/tenant-limits.js';
import type { Helper } from '../plugins/registry.js';
import type { Call, Caller, Stage } from './stage.js';

/**
 * Holds the call against what its key may call and its tenant may use: scope, then rate, then quota. Every answer from
 * here on carries the RateLimit fields, and one that fails gives its share of the quota back. Hands on the limits that hold.
 */
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
      // Counted like every refused call, so that its answer tells what is left too; the scope speaks before the limits.
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
    // The work is done: a client that went away before its answer has used its share.
    verdict.settle(200);
    return answer;
  };
}

/** Holds a request that is no call of a helper against its tenant's rate: a question may not flood the gateway, but costs no quota. */
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
