import { after, onSettled } from '../after.js';
import { GatewayError } from '../errors.js';
import type { Helper } from '../helpers/registry.js';
import { toGatewayError } from '../http/read-error.js';
import type { TenantLimits } from '../keys/model.js';
import { scopeAllows } from '../keys/scopes.js';
import type { Limiter } from '../limits/limiter.js';
import type { EffectiveLimits } from '../limits/tenant-limits.js';
import type { Call, Stage } from './stage.js';
import type { Caller } from './state.js';

/**
 * Holds the call against what its key may call and its tenant may use: scope, then rate, then quota. Every answer from
 * here on carries the RateLimit fields, and one that fails gives its share of the quota back. Hands on the limits that hold.
 */
export function limit(
  helper: Helper,
  limiter: Pick<Limiter, 'take'>,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, { limits: EffectiveLimits }> {
  return function limit({ state, caller: { tenant, scopes } }, next) {
    const limits = limitsOf(tenant.limits);
    return after(limiter.take({ id: tenant.id, limits }), (verdict) => {
      state.headers = verdict.headers;
      if (!scopeAllows(scopes, helper.id)) {
        // Counted like every refused call, so that its answer tells what is left too; the scope speaks before the limits.
        if (verdict.allowed) verdict.settle(403);
        throw new GatewayError('scope_denied');
      }
      if (!verdict.allowed) throw new GatewayError(verdict.code, { retryAfter: verdict.retryAfter });
      return onSettled(() => next({ limits }), {
        // The work is done: a client that went away before its answer has used its share.
        done: () => verdict.settle(200),
        failed: (error) => verdict.settle(toGatewayError(error).status),
      });
    });
  };
}
