import type { TenantLimits } from '../keys/model.js';

/** What holds for a tenant now: its own values and, where it has none, the gateway's. */
export interface EffectiveLimits {
  /** Requests in one second; 0 is no limit. A tenant may send them all at once. */
  rate: number;
  /** Requests beyond `rate` that a tenant may spend at will within ten seconds; 0 for none. */
  burst: number;
  /** Answered calls in a calendar month (UTC), or null for no quota. */
  monthlyQuota: number | null;
  /** Pool tasks of this tenant, waiting or running, in one gateway at a time, or null for no limit. */
  inFlight: number | null;
}

/** What a tenant may use for which nothing else is set. */
export function limitsByDefault(config: {
  rate: number;
  burst: number;
  monthlyQuota?: number | undefined;
  inFlight?: number | undefined;
}): EffectiveLimits {
  const { rate, burst, monthlyQuota = null, inFlight = null } = config;
  return { rate, burst, monthlyQuota, inFlight };
}

export interface LimitedTenant {
  id: string;
  limits: EffectiveLimits;
}

/** What holds for tenants by these defaults; one object for as long as a tenant's own values are the same one. */
export function createLimitsOf(defaults: EffectiveLimits): (own: TenantLimits) => EffectiveLimits {
  const resolved = new WeakMap<TenantLimits, EffectiveLimits>();
  return function limitsOf(own) {
    let limits = resolved.get(own);
    if (!limits) {
      limits = resolveLimits(own, defaults);
      resolved.set(own, limits);
    }
    return limits;
  };
}

/** A tenant's own values, as they are stored, over the gateway's defaults. */
export function resolveLimits(own: TenantLimits, defaults: EffectiveLimits): EffectiveLimits {
  return {
    rate: own.rate ?? defaults.rate,
    burst: own.burst ?? defaults.burst,
    monthlyQuota: own.monthly_quota ?? defaults.monthlyQuota,
    inFlight: own.in_flight ?? defaults.inFlight,
  };
}
