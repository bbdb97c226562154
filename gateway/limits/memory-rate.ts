import { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  BURST_WINDOW_S,
  createRateGate,
  RATE_WINDOW_S,
  type RateGate,
  UNBOUNDED_POINTS,
} from './rate-gate.js';

/**
 * Counts in this process. The library ends a window by a timer and by the wall clock, whichever is first: a clock set
 * back does not lengthen a window, one set forward ends the running window early, once.
 */
export function createMemoryRate(): RateGate {
  const limiter = (keyPrefix: string, duration: number) =>
    new RateLimiterMemory({ keyPrefix, duration, points: UNBOUNDED_POINTS });
  return createRateGate(limiter('rate', RATE_WINDOW_S), limiter('burst', BURST_WINDOW_S));
}
