import type { Logger } from 'pino';
import type { BatchWriter } from '../database/batch-writer.js';
import type { Access } from '../database/database.js';
import { createQuotaLedger, type QuotaAccount, type QuotaLedger, type QuotaTables } from './quota-ledger.js';
import {
  burstWindowS,
  createMemoryRate,
  type RateState,
  rateWindowS,
  type SharedCounts,
  type WindowState,
} from './rate.js';
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
  take(tenant: LimitedTenant): Promise<LimitVerdict>;
  /** Ends the connection to what is shared. What is charged is written by the batch writer, which is its owner's to close. */
  close(): void;
}

interface LimiterOptions {
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

function reduce(limits: EffectiveLimits, part: number): EffectiveLimits {
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
  // Imported only where there is one: its client takes a tenth of a second to load.
  const shared = redisUrl
    ? await (await import('./redis.js')).openRedisCounts({ ...redis, url: redisUrl })
    : options.counts;
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
    const inForce = reduce(limits, counts.outageShare);
    return judge(id, inForce, await ownRate.take(id, inForce.rate, inForce.burst));
  }

  async function judge(
    id: string,
    limits: EffectiveLimits,
    rate: RateState | undefined,
  ): Promise<LimitVerdict> {
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
    const quota = await quotas.reserve(id, month.name, limits.monthlyQuota);
    const headers = rateLimitFields(limits, { rate, month, quota });
    if (!quota.granted) {
      const reserved = quota.reserved ? { reserved: true as const } : {};
      return { allowed: false, code: 'quota_exceeded', retryAfter: month.left, headers, ...reserved };
    }
    return { allowed: true, headers, settle: (status) => quota.settle(status < 400) };
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

interface QuotaState {
  limit: number;
  remaining: number;
}

type QuotaVerdict =
  | (QuotaState & { granted: true; settle(charge: boolean): void })
  /** `reserved`: calls under way have what is lacking, and give it back where they fail. */
  | (QuotaState & { granted: false; reserved: boolean });

/** A monthly quota: a call is reserved before it runs, and charged or given back when it is answered. */
interface Quota {
  reserve(tenant: string, month: string, limit: number): Promise<QuotaVerdict>;
}

interface Reserved {
  granted: boolean;
  used: number;
}

/** What shares quotas between gateways or processes. */
type QuotaSharing = Pick<SharedCounts, 'run' | 'quota'>;

/**
 * Reserving before the call makes the quota exact for parallel calls. Where nothing is shared each gateway counts its own calls
 * and learns of the others' with every batch it writes.
 *
 * The limiter library is no help here: it counts refused calls too, and its memory store hands a month to setTimeout,
 * which takes 24.8 days at most and fires at once for more.
 */
function createQuota(ledger: QuotaLedger, sharing?: QuotaSharing): Quota {
  function reserveHere(account: QuotaAccount, limit: number): Reserved {
    const used = account.used();
    return used < limit ? { granted: true, used: used + 1 } : { granted: false, used };
  }

  function verdictOf(
    account: QuotaAccount,
    limit: number,
    { granted, used }: Reserved,
    giveBack?: () => void,
  ): QuotaVerdict {
    const remaining = Math.max(0, limit - used);
    if (!granted) return { limit, remaining, granted, reserved: account.refuse(limit) };
    account.hold();
    let open = true;
    const settle = (charge: boolean) => {
      if (!open) return;
      open = false;
      if (charge) return account.charge();
      account.release();
      giveBack?.();
    };
    return { limit, remaining, granted, settle };
  }

  async function reserveShared(
    { run, quota }: QuotaSharing,
    account: QuotaAccount,
    limit: number,
  ): Promise<QuotaVerdict> {
    const name = `${account.tenant}:${account.month}`;
    const shared = await run(() => quota.reserve(name, limit, account.charged()));
    if (!shared) return verdictOf(account, limit, reserveHere(account, limit));
    return verdictOf(account, limit, shared, () => void run(() => quota.release(name, account.charged())));
  }

  return {
    async reserve(tenant, month, limit) {
      const account = await ledger.open(tenant, month);
      return sharing
        ? reserveShared(sharing, account, limit)
        : verdictOf(account, limit, reserveHere(account, limit));
    },
  };
}

/** What an answer's fields are made from; a part is missing where the tenant has no such limit. */
interface LimitState {
  rate?: RateState | undefined;
  quota?: QuotaState;
  month: Month;
}

function listPolicies(limits: EffectiveLimits, month: Month): string[] {
  const list: string[] = [];
  if (limits.rate > 0) {
    list.push(`"rate";q=${limits.rate};w=${rateWindowS}`);
    if (limits.burst > 0) list.push(`"burst";q=${limits.burst};w=${burstWindowS}`);
  }
  if (limits.monthlyQuota !== null) list.push(`"quota";q=${limits.monthlyQuota};w=${month.seconds}`);
  if (limits.inFlight !== null) list.push(`"in-flight";q=${limits.inFlight};qu="concurrent-requests"`);
  return list;
}

/** Said with every call, and the same until the month or the limits change. */
const policyCache = new WeakMap<EffectiveLimits, { seconds: number; policy: string }>();

function policyOf(limits: EffectiveLimits, month: Month): string {
  const last = policyCache.get(limits);
  if (last?.seconds === month.seconds) return last.policy;
  const policy = listPolicies(limits, month).join(', ');
  policyCache.set(limits, { seconds: month.seconds, policy });
  return policy;
}

/** Each state but the last is followed by a comma; no list is made to be joined, as this is said with every call. */
function statesOf({ rate, quota, month }: LimitState): string {
  let text = '';
  if (rate) text = stateOf('rate', rate.second);
  if (rate?.burst) text += `, ${stateOf('burst', rate.burst)}`;
  if (quota) text += `${text === '' ? '' : ', '}"quota";r=${quota.remaining};t=${month.left}`;
  return text;
}

function stateOf(name: string, { remaining, resetMs }: WindowState): string {
  return `"${name}";r=${remaining};t=${Math.max(1, Math.ceil(resetMs / 1000))}`;
}

/**
 * The answer's `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10: lists of named policies,
 * `q` units in `w` seconds, and of their states, `r` units left, `t` seconds until there are more). Empty for a tenant
 * without limits.
 */
export function rateLimitFields(limits: EffectiveLimits, state: LimitState): Record<string, string> {
  const fields: Record<string, string> = {};
  const policy = policyOf(limits, state.month);
  const states = statesOf(state);
  if (policy !== '') fields['RateLimit-Policy'] = policy;
  if (states !== '') fields.RateLimit = states;
  return fields;
}

/** A calendar month in UTC, as quotas count it. */
interface Month {
  /** `YYYY-MM`. */
  name: string;
  /** Its length in seconds. */
  seconds: number;
  /** Whole seconds until the next one begins, at least 1. */
  left: number;
}

/** Tells the month of moments given in epoch milliseconds; cheap for one after another of the same month. */
export function createMonthClock(): (at: number) => Month {
  let start = 0;
  let end = 0;
  let name = '';
  return function monthOf(at) {
    if (at < start || at >= end) {
      const date = new Date(at);
      start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
      end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
      name = date.toISOString().slice(0, 7);
    }
    return { name, seconds: (end - start) / 1000, left: Math.ceil((end - at) / 1000) };
  };
}
