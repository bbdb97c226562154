import type { Logger } from 'pino';
import type { RateGate } from './rate-gate.js';
import type { RedisLinkOptions } from './redis-link.js';
import type { SharedQuota } from './redis-quota.js';

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

export interface RedisCountsOptions extends Pick<RedisLinkOptions, 'url' | 'prefix' | 'commandTimeoutMs'> {
  logger: Pick<Logger, 'info' | 'warn'>;
  outageShare: number;
}

/** The counts in Redis. Imported only where there is one: its client takes a tenth of a second to load. */
export async function openRedisCounts(options: RedisCountsOptions): Promise<SharedCounts> {
  const { createRedisLink } = await import('./redis-link.js');
  const { createRedisQuota } = await import('./redis-quota.js');
  const { createRedisRate } = await import('./redis-rate.js');
  const { prefix, outageShare } = options;
  const { client, run, close } = await createRedisLink(options);
  return {
    run,
    rate: createRedisRate(client, prefix),
    quota: createRedisQuota(client, prefix),
    outageShare,
    close,
  };
}
