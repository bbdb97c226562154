import type { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { burstWindowS, createRateGate, type RateGate, rateWindowS, unboundedPoints } from './rate-gate.js';

/**
 * The library's script, and beyond it: Redis keeps expiry as a moment of its own clock, so when that clock is set
 * back by an hour a window of one second would last an hour. A window with more left than its length begins again.
 */
const countScript = `
redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local consumed = redis.call('incrby', KEYS[1], ARGV[1])
local ttl = redis.call('pttl', KEYS[1])
local length = 1000 * ARGV[2]
if ttl < 0 or ttl > length then
  redis.call('set', KEYS[1], ARGV[1], 'PX', length)
  consumed = tonumber(ARGV[1])
  ttl = length
end
return {consumed, ttl}
`;

/** Counts in Redis, for all gateways that use it: one round trip a call, two while a burst is being spent. */
export function createRedisRate(client: Redis, prefix: string): RateGate {
  const limiter = (name: string, duration: number) =>
    new RateLimiterRedis({
      storeClient: client,
      keyPrefix: `${prefix}${name}`,
      duration,
      points: unboundedPoints,
      rejectIfRedisNotReady: true,
      customIncrTtlLuaScript: countScript,
    });
  return createRateGate(limiter('rate', rateWindowS), limiter('burst', burstWindowS));
}
