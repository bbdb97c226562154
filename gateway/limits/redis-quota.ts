import type { Redis, Result } from 'ioredis';

/** One count a tenant and month in Redis, shared by all gateways. Throws what the client throws. */
export interface SharedQuota {
  /** Takes one call of `limit`; counts from `floor` where Redis knows of fewer calls. */
  reserve(name: string, limit: number, floor: number): Promise<{ granted: boolean; used: number }>;
  /** Gives a call back, but not below `floor`. */
  release(name: string, floor: number): Promise<void>;
}

/**
 * `floor` is what is known to be charged from the database. With it a Redis that lost its memory, or missed the calls
 * of an outage, is put right by the next call.
 */
const reserveScript = `
local used = math.max(tonumber(redis.call('get', KEYS[1]) or '0'), tonumber(ARGV[2]))
local granted = 0
if used < tonumber(ARGV[1]) then
  used = used + 1
  granted = 1
end
redis.call('set', KEYS[1], string.format('%.0f', used), 'PX', ARGV[3])
return {granted, used}
`;

const releaseScript = `
local used = tonumber(redis.call('get', KEYS[1]) or '0')
if used > tonumber(ARGV[1]) then redis.call('decr', KEYS[1]) end
return 0
`;

// Longer than a month after its last call, and then nobody asks for it.
const keepMs = 35 * 86_400_000;

declare module 'ioredis' {
  /** The scripts below, as the client's own commands. */
  interface RedisCommander<Context> {
    quotaReserve(
      key: string,
      limit: number,
      floor: number,
      keepMs: number,
    ): Result<[granted: number, used: number], Context>;
    quotaRelease(key: string, floor: number): Result<number, Context>;
  }
}

export function createRedisQuota(client: Redis, prefix: string): SharedQuota {
  client.defineCommand('quotaReserve', { numberOfKeys: 1, lua: reserveScript });
  client.defineCommand('quotaRelease', { numberOfKeys: 1, lua: releaseScript });
  return {
    async reserve(name, limit, floor) {
      const [granted, used] = await client.quotaReserve(`${prefix}quota:${name}`, limit, floor, keepMs);
      return { granted: granted === 1, used };
    },
    async release(name, floor) {
      await client.quotaRelease(`${prefix}quota:${name}`, floor);
    },
  };
}
