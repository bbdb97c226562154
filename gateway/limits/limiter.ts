import type { Logger } from 'pino';
import { after, type Now } from '../after.js';
import type { Access } from '../database/access.js';
import type { BatchWriter } from '../database/batch-writer.js';
import { createMemoryRate } from './memory-rate.js';
import { createMonthClock } from './month.js';
import { createQuota } from './quota.js';
import { createQuotaLedger } from './quota-ledger.js';
import type { RateState } from './rate-gate.js';
import { rateLimitFields } from './rate-limit-fields.js';
import { openRedisCounts, type SharedCounts } from './shared-counts.js';
import type { QuotaTables } from './tables.js';
import type { EffectiveLimits, LimitedTenant } from './tenant-limits.js';

/** `headers` belong on the answer, whatever it turns out to be. */
export type LimitVerdict =
  | {
      allowed: true;
      headers: Record<string, string>;
      /** To be called once with the answer's status: only one below 400 costs quota. */
      settle(status: number): void;
    }
  | {
      allowed: false;
      code: 'rate_limited' | 'quota_exceeded';
      /** Whole seconds, at least 1. */
      retryAfter: number;
      headers: Record<string, string>;
      /** Of a quota: calls under way have the rest of it, and give it back where they fail. */
      reserved?: true;
    };

export interface Limiter {
  /** Counts a call and says whether it may run. Never throws for a Redis or a database that is away. */
  take(tenant: LimitedTenant): Now<LimitVerdict>;
  /** Ends the connection to what is shared. What is charged is written by the batch writer, which is its owner's to close. */
  close(): void;
}

export interface LimiterOptions {
  access: Access<QuotaTables>;
  writer: BatchWriter;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Limits are shared through this Redis; without it through `counts`; without both they are this process's own. */
  redisUrl?: string | undefined;
  counts?: SharedCounts | undefined;
  /** Begins every key in Redis; default `hg:`. */
  redisPrefix?: string;
  /** Milliseconds that one command to Redis may take; default 200. */
  redisTimeoutMs?: number;
  /** What this gateway allows of `rate` and `burst` while Redis is away, above 0 to 1; default 0.5. */
  outageShare?: number;
  /** Epoch milliseconds; for tests. */
  now?: () => number;
}

function share(limits: EffectiveLimits, part: number): EffectiveLimits {
  if (limits.rate === 0) return limits;
  return {
    ...limits,
    rate: Math.max(1, Math.floor(limits.rate * part)),
    burst: Math.floor(limits.burst * part),
  };
}

/** The limits of every tenant: in memory, or shared with memory to fall back on. */
export async function createLimiter(options: LimiterOptions): Promise<Limiter> {
  const {
    access,
    writer,
    logger,
    redisUrl,
    redisPrefix = 'hg:',
    redisTimeoutMs,
    outageShare = 0.5,
    now = Date.now,
  } = options;
  const redis = { prefix: redisPrefix, logger, commandTimeoutMs: redisTimeoutMs, outageShare };
  const shared = redisUrl ? await openRedisCounts({ ...redis, url: redisUrl }) : options.counts;
  const ownRate = createMemoryRate();
  const monthOf = createMonthClock();
  const ledger = createQuotaLedger(access);
  writer.add(ledger);
  const quotas = createQuota(ledger, shared);

  async function takeShared(
    counts: SharedCounts,
    id: string,
    limits: EffectiveLimits,
  ): Promise<LimitVerdict> {
    const taken = await counts.run(() => counts.rate.take(id, limits.rate, limits.burst));
    if (taken) return judge(id, limits, taken);
    const inForce = share(limits, counts.outageShare);
    return judge(id, inForce, await ownRate.take(id, inForce.rate, inForce.burst));
  }

  function judge(id: string, limits: EffectiveLimits, rate: RateState | undefined): Now<LimitVerdict> {
    const month = monthOf(now());
    if (rate && !rate.allowed) {
      const retryAfter = Math.max(1, Math.ceil(rate.second.resetMs / 1000));
      return {
        allowed: false,
        code: 'rate_limited',
        retryAfter,
        headers: rateLimitFields(limits, { rate, month }),
      };
    }
    if (limits.monthlyQuota === null) {
      return { allowed: true, headers: rateLimitFields(limits, { rate, month }), settle() {} };
    }
    return after(quotas.reserve(id, month.name, limits.monthlyQuota), (quota): LimitVerdict => {
      const headers = rateLimitFields(limits, { rate, month, quota });
      if (!quota.granted) {
        const reserved = quota.reserved ? { reserved: true as const } : {};
        return { allowed: false, code: 'quota_exceeded', retryAfter: month.left, headers, ...reserved };
      }
      return { allowed: true, headers, settle: (status) => quota.settle(status < 400) };
    });
  }

  return {
    take({ id, limits }) {
      if (limits.rate === 0) return judge(id, limits, undefined);
      return shared
        ? takeShared(shared, id, limits)
        : ownRate.take(id, limits.rate, limits.burst).then((rate) => judge(id, limits, rate));
    },
    close: () => shared?.close(),
  };
}
