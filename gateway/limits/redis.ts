import { Redis, type Result } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { burstWindowS, createRateGate, type RateGate, rateWindowS, unboundedPoints } from './rate.js';

/** A Redis that may go away and come back. */
export interface RedisLink {
  readonly client: Redis;
  /** Runs an operation. Undefined where Redis cannot be used: the caller goes on without it. */
  run<T>(operation: () => Promise<T>): Promise<T | undefined>;
  close(): void;
}

export interface RedisLinkOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  prefix: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds that one command may take; default 200. */
  commandTimeoutMs?: number | undefined;
  /** Milliseconds between two looks whether Redis is back; default 500. */
  retryMs?: number;
}

// A connection that is open but dead is opened again after so many looks in vain.
const looksBeforeReconnect = 10;

function redisReason(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
}

function connectRedis({ url, commandTimeoutMs = 200, retryMs = 500 }: RedisLinkOptions): Redis {
  return new Redis(url, {
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2000,
    // A command that waits for a connection would hold its request; one that is sent again might count twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => retryMs,
  });
}

/**
 * Connects, and waits for the first connection as long as two commands may take. After a failed operation Redis is
 * asked by itself before it counts as down, since a gateway that was busy for a moment sees time-outs too; while it
 * is down no request waits for it. Each outage is logged once, and once its end.
 */
export async function createRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const { prefix, logger, commandTimeoutMs = 200, retryMs = 500 } = options;
  const client = connectRedis(options);
  let state: 'up' | 'suspect' | 'down' = 'suspect';
  let closed = false;
  let lastError: unknown;
  let looking = false;
  let looksInVain = 0;
  let timer: NodeJS.Timeout | undefined;

  client.on('error', (error) => {
    lastError = error;
  });

  function foundUp(): void {
    if (state === 'down') logger.info({}, 'Redis is back: limits are shared again');
    state = 'up';
    looksInVain = 0;
  }

  function foundDown(error: unknown): void {
    if (state !== 'down') {
      const reason = redisReason(client.status === 'ready' ? error : (lastError ?? error));
      logger.warn({ reason }, 'Redis cannot be used: this gateway limits by itself, at a reduced share');
    }
    state = 'down';
    looksInVain += 1;
    const open = client.status === 'ready' || client.status === 'connect';
    if (open && looksInVain % looksBeforeReconnect === 0) client.disconnect(true);
    timer = setTimeout(look, retryMs);
    timer.unref();
  }

  // Writes, since a Redis that only reads (a replica, a full one) is of no use here.
  async function look(): Promise<void> {
    if (looking || closed) return;
    looking = true;
    try {
      await client.set(`${prefix}probe`, 1, 'PX', 1000);
      if (!closed) foundUp();
    } catch (error) {
      if (!closed) foundDown(error);
    } finally {
      looking = false;
    }
  }

  await new Promise<void>((resolve) => {
    const giveUp = setTimeout(resolve, 2 * commandTimeoutMs);
    const connected = () => {
      clearTimeout(giveUp);
      resolve();
    };
    client.once('ready', connected);
    client.once('error', connected);
  });
  await look();

  return {
    client,
    async run(operation) {
      if (state !== 'up' || closed) return undefined;
      try {
        return await operation();
      } catch {
        if (state === 'up') {
          state = 'suspect';
          void look();
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
