import { after } from '../after.js';
import { GatewayError } from '../errors.js';
import type { TenantLimits } from '../keys/model.js';
import type { Limiter } from '../limits/limiter.js';
import type { EffectiveLimits } from '../limits/tenant-limits.js';
import type { Call, Stage } from './stage.js';
import type { Caller } from './state.js';

/** Holds a request that is no call of a helper against its tenant's rate: a question may not flood the gateway, but costs no quota. */
export function limitRate(
  limiter: Limiter,
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<Call & { caller: Caller }, object> {
  return function limitRate({ state, caller: { tenant } }, next) {
    const limits = { ...limitsOf(tenant.limits), monthlyQuota: null };
    return after(limiter.take({ id: tenant.id, limits }), (verdict) => {
      state.headers = verdict.headers;
      if (!verdict.allowed) throw new GatewayError(verdict.code, { retryAfter: verdict.retryAfter });
      return next({});
    });
  };
}
