import type { Redis, Result } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { connectRedis, redisReason } from '../database/redis.js';
import {
  burstWindowS,
  createRateGate,
  type RateGate,
  rateWindowS,
  type SharedCounts,
  type SharedQuota,
  unboundedPoints,
} from './counters.js';

interface RedisCountsOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  prefix: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds that one command may take; default 200. */
  commandTimeoutMs?: number | undefined;
  outageShare: number;
}

/** Milliseconds between two probes whether Redis is back, and probes after which a connection that is open but dead is opened again. */
const probeMs = 500;
const probesBeforeReconnect = 10;

/**
 * Rates and quotas in Redis. The first connection is waited for as long as two commands may take. After a failed operation a probe
 * decides whether Redis is down, since a gateway that was busy for a moment sees time-outs too. While Redis is down, no request waits
 * for it. Each outage is logged once, and once its end.
 */
export async function openRedisCounts(options: RedisCountsOptions): Promise<SharedCounts> {
  const { url, prefix, logger, commandTimeoutMs = 200, outageShare } = options;
  const connection = connectRedis({ url, commandTimeoutMs, firstConnectionMs: 2 * commandTimeoutMs });
  const { client } = connection;
  let state: 'up' | 'suspect' | 'down' = 'suspect';
  let closed = false;
  let probing = false;
  let failedProbes = 0;
  let timer: NodeJS.Timeout | undefined;

  function foundUp(): void {
    if (state === 'down') logger.info({}, 'Redis is back: limits are shared again');
    state = 'up';
    failedProbes = 0;
  }

  function foundDown(error: unknown): void {
    if (state !== 'down') {
      const lost = client.status === 'ready' ? undefined : connection.reason();
      const reason = lost ?? redisReason(error);
      logger.warn({ reason }, 'Redis cannot be used: this gateway limits by itself, at a reduced share');
    }
    state = 'down';
    failedProbes += 1;
    const open = client.status === 'ready' || client.status === 'connect';
    if (open && failedProbes % probesBeforeReconnect === 0) client.disconnect(true);
    timer = setTimeout(probe, probeMs).unref();
  }

  // Writes, since a Redis that only reads (a replica, a full one) is of no use here.
  async function probe(): Promise<void> {
    if (probing || closed) return;
    probing = true;
    try {
      await client.set(`${prefix}probe`, 1, 'PX', 1000);
      if (!closed) foundUp();
    } catch (error) {
      if (!closed) foundDown(error);
    } finally {
      probing = false;
    }
  }

  await connection.connected;
  await probe();
  return {
    rate: createRedisRate(client, prefix),
    quota: createRedisQuota(client, prefix),
    outageShare,
    async run(operation) {
      if (state !== 'up' || closed) return undefined;
      try {
        return await operation();
      } catch {
        if (state === 'up') {
          state = 'suspect';
          void probe();
        }
        return undefined;
      }
    },
    close() {
      closed = true;
      clearTimeout(timer);
      client.disconnect();
    },
  };
}

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
function createRedisRate(client: Redis, prefix: string): RateGate {
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

/**
 * `floor` is what is known to be charged from the database. With it a Redis that lost its memory, or missed the calls
 * of an outage, is put right by the next call.
 */
const reserveScript = `
local used = math.max(tonumber(redis.call('get', KEYS[1]) or '0'), tonumber(ARGV[2]))
local granted = 0
if used < tonumber(ARGV[1]) then
  used = used + tonumber(ARGV[4])
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

// Longer than a month after its last call, when it is not needed any more.
const keepMs = 35 * 86_400_000;

declare module 'ioredis' {
  /** The scripts below, as the client's own commands. */
  interface RedisCommander<Context> {
    quotaReserve(
      key: string,
      limit: number,
      floor: number,
      keepMs: number,
      amount: number,
    ): Result<[number, number], Context>;
    quotaRelease(key: string, floor: number): Result<number, Context>;
  }
}

function createRedisQuota(client: Redis, prefix: string): SharedQuota {
  client.defineCommand('quotaReserve', { numberOfKeys: 1, lua: reserveScript });
  client.defineCommand('quotaRelease', { numberOfKeys: 1, lua: releaseScript });
  return {
    async reserve(name, limit, floor, amount) {
      const key = `${prefix}quota:${name}`;
      const [granted, used] = await client.quotaReserve(key, limit, floor, keepMs, amount);
      return { granted: granted === 1, used };
    },
    async release(name, floor) {
      await client.quotaRelease(`${prefix}quota:${name}`, floor);
    },
  };
}
