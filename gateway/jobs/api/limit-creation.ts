import { after } from '../../after.js';
import { GatewayError } from '../../errors.js';
import type { TenantLimits } from '../../keys/model.js';
import type { Limiter } from '../../limits/limiter.js';
import type { EffectiveLimits } from '../../limits/tenant-limits.js';
import type { Call, Stage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';

/**
 * Holds a request for a job against its tenant's rate, and refuses it where the quota is used up already: its items would fail one
 * by one. It costs no quota itself, they do.
 */
export function limitCreation(
  limiter: Limiter,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, object> {
  return function limitCreation({ state, caller: { tenant } }, next) {
    return after(limiter.take({ id: tenant.id, limits: limitsOf(tenant.limits) }), (verdict) => {
      state.headers = verdict.headers;
      if (!verdict.allowed) throw new GatewayError(verdict.code, { retryAfter: verdict.retryAfter });
      // As if it had failed: what was reserved for it is free again.
      verdict.settle(400);
      return next({});
    });
  };
}
