import { toGatewayError } from '../answer-error.js';
import { GatewayError } from '../errors.js';
import { scopeAllows } from '../keys/scopes.js';
import type { Limiter } from '../limits/limiter.js';
import { resolveLimits, type TenantLimits } from '../limits/tenant-limits.js';
import type { Stage } from './state.js';

/**
 * Holds the call against what its key may call and its tenant may use: scope, then rate, then quota. Every answer from
 * here on carries the RateLimit fields, and one that fails gives its share of the quota back.
 */
export function limit(limiter: Limiter, defaults: TenantLimits): Stage {
  return async function limit(ctx, next) {
    const { helper, tenant, scopes } = ctx.state;
    if (!helper || !tenant || scopes === undefined) throw new Error('a call is limited for a tenant');
    const { rate, burst, monthly_quota, in_flight } = tenant.limits;
    const limits = resolveLimits(
      {
        rate: rate ?? undefined,
        burst: burst ?? undefined,
        monthlyQuota: monthly_quota ?? undefined,
        inFlight: in_flight ?? undefined,
      },
      defaults,
    );
    ctx.state.limits = limits;
    const verdict = await limiter.take({ id: tenant.id, limits });
    ctx.set(verdict.headers);
    if (!scopeAllows(scopes, helper.id)) {
      // Counted like every refused call, so that its answer tells what is left too; the scope speaks before the limits.
      if (verdict.allowed) verdict.settle(403);
      throw new GatewayError('scope_denied');
    }
    if (!verdict.allowed) throw new GatewayError(verdict.code, { retryAfter: verdict.retryAfter });
    try {
      await next();
    } catch (error) {
      verdict.settle(toGatewayError(error).status);
      throw error;
    }
    // The work is done: a client that went away before its answer has used its share.
    verdict.settle(200);
  };
}
