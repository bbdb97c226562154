/** What a tenant may use. */
export interface TenantLimits {
  /** Requests in one second; 0 is no limit. A tenant may send them all at once. */
  rate: number;
  /** Requests beyond `rate` that a tenant may spend at will within ten seconds; 0 for none. */
  burst: number;
  /** Answered calls in a calendar month (UTC), or null for no quota. */
  monthlyQuota: number | null;
  /** Pool tasks of this tenant, waiting or running, in one gateway at a time, or null for no limit. */
  inFlight: number | null;
}

/** A tenant as the limiter knows it. */
export interface LimitedTenant {
  id: string;
  limits: TenantLimits;
}

/** A tenant's own values over the defaults; `undefined` takes the default, null is "no limit". */
export function resolveLimits(
  own: { [K in keyof TenantLimits]?: TenantLimits[K] | undefined } | undefined,
  defaults: TenantLimits,
): TenantLimits {
  return {
    rate: own?.rate ?? defaults.rate,
    burst: own?.burst ?? defaults.burst,
    monthlyQuota: own?.monthlyQuota === undefined ? defaults.monthlyQuota : own.monthlyQuota,
    inFlight: own?.inFlight === undefined ? defaults.inFlight : own.inFlight,
  };
}
