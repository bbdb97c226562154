import { type RateLimiterAbstract, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

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

/** One count a tenant and month, shared by all gateways. Throws what the client throws. */
export interface SharedQuota {
  /** Reserves one call of `limit`; counts from `floor` where fewer calls are known there. */
  reserve(name: string, limit: number, floor: number): Promise<{ granted: boolean; used: number }>;
  /** Gives a call back, but not below `floor`. */
  release(name: string, floor: number): Promise<void>;
}

/** Rates and quotas that several processes or gateways count together. */
export interface SharedCounts {
  /** Runs an operation. Undefined where the counts cannot be reached: the caller goes on without them. */
  run<T>(operation: () => Promise<T>): Promise<T | undefined>;
  rate: RateGate;
  quota: SharedQuota;
  /** What is allowed of rate and burst while they cannot be reached, above 0 to 1. */
  outageShare: number;
  close(): void;
}

/** Length of the windows of `rate` and `burst`, in seconds. */
export const rateWindowS = 1;
export const burstWindowS = 10;

/**
 * The limiters only count: each tenant has limits of its own, while a limiter of the library has one for all its keys.
 */
export const unboundedPoints = Number.MAX_SAFE_INTEGER;

function windowOf(
  { consumedPoints, msBeforeNext }: RateLimiterRes,
  limit: number,
  windowS: number,
): WindowState {
  return {
    limit,
    remaining: Math.max(0, limit - consumedPoints),
    // The library gives the rest of a window by the wall clock, which may have been set back since the window began.
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
  async function takeBurst(tenant: string, burst: number, window: WindowState): Promise<RateState> {
    const extra = await reserve.consume(tenant);
    return {
      allowed: extra.consumedPoints <= burst,
      second: window,
      burst: windowOf(extra, burst, burstWindowS),
    };
  }

  return {
    take: (tenant, rate, burst) =>
      second.consume(tenant).then((count) => {
        const window = windowOf(count, rate, rateWindowS);
        const allowed = count.consumedPoints <= rate;
        return allowed || burst === 0 ? { allowed, second: window } : takeBurst(tenant, burst, window);
      }),
  };
}

/**
 * Counts in this process. The library ends a window by a timer and by the wall clock, whichever is first: a clock set
 * back does not lengthen a window, one set forward ends the running window early, once.
 */
export function createMemoryRate(): RateGate {
  // Each has a store of its own, and a prefix would be a string to make and hash with every call.
  const limiter = (duration: number) =>
    new RateLimiterMemory({ keyPrefix: '', duration, points: unboundedPoints });
  return createRateGate(limiter(rateWindowS), limiter(burstWindowS));
}
