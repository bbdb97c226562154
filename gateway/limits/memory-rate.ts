import { RateLimiterMemory } from 'rate-limiter-flexible';
import { burstWindowS, createRateGate, type RateGate, rateWindowS, unboundedPoints } from './rate-gate.js';

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
