import type { RateLimiterAbstract } from 'rate-limiter-flexible';

/** One window's state after a call: what is left of `limit`, and the milliseconds until the window ends. */
export interface WindowState {
  limit: number;
  remaining: number;
  resetMs: number;
}

export interface RateState {
  allowed: boolean;
  second: WindowState;
  /** There once the second's share is used up and the tenant has a burst. */
  burst?: WindowState;
}

/** Counts calls by tenant in windows that begin with the first call in them. */
export interface RateGate {
  take(tenant: string, rate: number, burst: number): Promise<RateState>;
}

/** Length of the windows of `rate` and `burst`, in seconds. */
export const rateWindowS = 1;
export const burstWindowS = 10;

/**
 * The limiters only count: each tenant has limits of its own, while a limiter of the library has one for all its keys.
 */
export const unboundedPoints = Number.MAX_SAFE_INTEGER;

async function count(
  limiter: RateLimiterAbstract,
  tenant: string,
  limit: number,
  windowS: number,
): Promise<WindowState & { allowed: boolean }> {
  const { consumedPoints, msBeforeNext } = await limiter.consume(tenant);
  return {
    allowed: consumedPoints <= limit,
    limit,
    remaining: Math.max(0, limit - consumedPoints),
    // The library tells the rest of a window by the wall clock, which may have been set back since the window began.
    resetMs: Math.min(Math.max(msBeforeNext, 0), windowS * 1000),
  };
}

/**
 * Allows `rate` calls in a second, and `burst` more in ten seconds. Fixed windows rather than a token bucket, so that
 * a second's limit is never passed by what a bucket refills meanwhile. A refused call is counted but does not
 * lengthen its window.
 *
 * @param second counts in windows of `rateWindowS`
 * @param reserve counts in windows of `burstWindowS`
 */
export function createRateGate(second: RateLimiterAbstract, reserve: RateLimiterAbstract): RateGate {
  return {
    async take(tenant, rate, burst) {
      const { allowed, ...window } = await count(second, tenant, rate, rateWindowS);
      if (allowed || burst === 0) return { allowed, second: window };
      const extra = await count(reserve, tenant, burst, burstWindowS);
      const { allowed: spare, ...burstWindow } = extra;
      return { allowed: spare, second: window, burst: burstWindow };
    },
  };
}
