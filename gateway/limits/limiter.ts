import type { Logger } from 'pino';
import type { BatchWriter } from '../database/batch-writer.js';
import type { Access } from '../database/database.js';
import type { TenantLimits } from '../keys/model.js';
import {
  burstWindowS,
  createMemoryRate,
  createQuotaLedger,
  type QuotaAccount,
  type QuotaTables,
  type RateState,
  rateWindowS,
  type SharedCounts,
  type WindowState,
} from './counters.js';

/** What holds for a tenant now: its own values and, where it has none, the gateway's. */
export interface EffectiveLimits {
  /** Requests in one second; 0 is no limit. A tenant may send them all at once. */
  rate: number;
  /** Requests beyond `rate` that a tenant may spend at will within ten seconds; 0 for none. */
  burst: number;
  /** Answered calls in a calendar month (UTC), or null for no quota. */
  monthlyQuota: number | null;
  /** Pool tasks of this tenant, waiting or running, in one gateway at a time, or null for no limit. */
  inFlight: number | null;
  /** Milliseconds of CPU that its calls may cost in a calendar month (UTC), or null for no budget. */
  monthlyCpuMs: number | null;
}

/** What a tenant may use for which nothing else is set. */
export function limitsByDefault(config: {
  rate: number;
  burst: number;
  monthlyQuota?: number | undefined;
  inFlight?: number | undefined;
  monthlyCpuMs?: number | undefined;
}): EffectiveLimits {
  const { rate, burst, monthlyQuota = null, inFlight = null, monthlyCpuMs = null } = config;
  return { rate, burst, monthlyQuota, inFlight, monthlyCpuMs };
}

export interface LimitedTenant {
  id: string;
  limits: EffectiveLimits;
}

/**
 * What holds for tenants: their own values, as they are stored, over these defaults. One object for as long as a tenant's own values
 * are the same one.
 */
export function createLimitsOf(defaults: EffectiveLimits): (own: TenantLimits) => EffectiveLimits {
  const resolved = new WeakMap<TenantLimits, EffectiveLimits>();
  return function limitsOf(own) {
    let limits = resolved.get(own);
    if (!limits) {
      limits = {
        rate: own.rate ?? defaults.rate,
        burst: own.burst ?? defaults.burst,
        monthlyQuota: own.monthly_quota ?? defaults.monthlyQuota,
        inFlight: own.in_flight ?? defaults.inFlight,
        monthlyCpuMs: own.monthly_cpu_ms ?? defaults.monthlyCpuMs,
      };
      resolved.set(own, limits);
    }
    return limits;
  };
}

/** `headers` belong on the answer, whatever it turns out to be. */
type LimitVerdict =
  | {
      allowed: true;
      headers: Record<string, string>;
      /** To be called once with the answer's status: only one below 400 costs quota. */
      settle(status: number): void;
    }
  | {
      allowed: false;
      code: 'rate_limited' | 'quota_exceeded';
      retryAfter: number;
      headers: Record<string, string>;
      /** Of a quota: calls under way have the rest of it, and give it back where they fail. */
      reserved?: true;
    };

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

export type Limiter = Awaited<ReturnType<typeof createLimiter>>;

/** The limits of every tenant: in memory, or shared with memory to fall back on. */
export async function createLimiter(options: LimiterOptions) {
  const {
    access,
    writer,
    logger,
    redisUrl,
    redisPrefix = 'hg:',
    outageShare = 0.5,
    now = Date.now,
  } = options;
  const redis = { prefix: redisPrefix, logger, commandTimeoutMs: options.redisTimeoutMs, outageShare };
  // Imported only where there is one: its client takes a tenth of a second to load.
  const shared = redisUrl
    ? await (await import('./redis.js')).openRedisCounts({ ...redis, url: redisUrl })
    : options.counts;
  const ownRate = createMemoryRate();
  const monthOf = createMonthClock();
  const ledger = createQuotaLedger(access);
  writer.add(ledger);

  /** Counts a call in its rate, and says which limits are in force: a share of them where the shared counts cannot be reached. */
  async function countRate(id: string, limits: EffectiveLimits) {
    if (limits.rate === 0) return { limits };
    const rate = await shared?.run(() => shared.rate.consume(id, limits.rate, limits.burst));
    if (rate) return { limits, rate };
    const inForce = shared ? shareOf(limits, shared.outageShare) : limits;
    return { limits: inForce, rate: await ownRate.consume(id, inForce.rate, inForce.burst) };
  }

  /**
   * Reserves a call before it runs; it is charged or given back when it is answered. That makes the quota exact for parallel calls.
   * Where nothing is shared each gateway counts its own calls and learns of the others' with every batch it writes.
   *
   * The limiter library is no help here: it counts refused calls too, and its memory store hands a month to setTimeout, which takes
   * 24.8 days at most and fires at once for more.
   */
  async function reserve(account: QuotaAccount, limit: number) {
    const name = `${account.tenant}:${account.month}`;
    const there = await shared?.run(() => shared.quota.reserve(name, limit, account.charged()));
    const used = account.used();
    const here = used < limit ? { granted: true, used: used + 1 } : { granted: false, used };
    const { granted, ...reserved } = there ?? here;
    if (granted) account.hold();
    let open = true;
    return {
      granted,
      remaining: Math.max(0, limit - reserved.used),
      settle(charge: boolean): void {
        if (!open) return;
        open = false;
        if (charge) account.charge();
        else account.release();
        if (there && !charge) void shared?.run(() => shared.quota.release(name, account.charged()));
      },
    };
  }

  return {
    /** Counts a call and says whether it may run. Never rejects for a Redis or a database that is away. */
    async take({ id, limits: own }: LimitedTenant): Promise<LimitVerdict> {
      const { limits, rate } = await countRate(id, own);
      const { monthlyQuota } = limits;
      const month = monthOf(now());
      const refused = rate !== undefined && !rate.allowed;
      if (refused || monthlyQuota === null) {
        const headers = rateLimitFields(limits, { rate, month });
        if (!refused) return { allowed: true, headers, settle() {} };
        return { allowed: false, code: 'rate_limited', retryAfter: secondsOf(rate.second), headers };
      }
      const account = await ledger.open(id, month.name);
      const { granted, remaining, settle } = await reserve(account, monthlyQuota);
      const headers = rateLimitFields(limits, { rate, month, remaining });
      if (granted) return { allowed: true, headers, settle: (status) => settle(status < 400) };
      const reserved = account.refuse(monthlyQuota) ? { reserved: true as const } : {};
      return { allowed: false, code: 'quota_exceeded', retryAfter: month.left, headers, ...reserved };
    },
    /** Ends the connection to what is shared. What is charged is written by the batch writer, which is its owner's to close. */
    close: () => shared?.close(),
  };
}

function shareOf(limits: EffectiveLimits, part: number): EffectiveLimits {
  const rate = Math.max(1, Math.floor(limits.rate * part));
  return { ...limits, rate, burst: Math.floor(limits.burst * part) };
}

function secondsOf({ resetMs }: WindowState): number {
  return Math.max(1, Math.ceil(resetMs / 1000));
}

/** What an answer's fields are made from; a part is missing where the tenant has no such limit. */
interface LimitState {
  rate?: RateState | undefined;
  remaining?: number;
  month: Month;
}

/** Sent with every answer, and the same until the month or the limits change. */
const policyCache = new WeakMap<EffectiveLimits, { seconds: number; policy: string }>();

function policyOf(limits: EffectiveLimits, { seconds }: Month): string {
  const last = policyCache.get(limits);
  if (last?.seconds === seconds) return last.policy;
  const { rate, burst, monthlyQuota, inFlight } = limits;
  const policies = [
    rate > 0 && `"rate";q=${rate};w=${rateWindowS}`,
    rate > 0 && burst > 0 && `"burst";q=${burst};w=${burstWindowS}`,
    monthlyQuota !== null && `"quota";q=${monthlyQuota};w=${seconds}`,
    inFlight !== null && `"in-flight";q=${inFlight};qu="concurrent-requests"`,
  ];
  const policy = policies.filter(Boolean).join(', ');
  policyCache.set(limits, { seconds, policy });
  return policy;
}

/** Each state but the last is followed by a comma; no list is made to be joined, as this is sent with every answer. */
function statesOf({ rate, remaining, month }: LimitState): string {
  let text = '';
  if (rate) text = stateOf('rate', rate.second);
  if (rate?.burst) text += `, ${stateOf('burst', rate.burst)}`;
  if (remaining !== undefined) text += `${text === '' ? '' : ', '}"quota";r=${remaining};t=${month.left}`;
  return text;
}

function stateOf(name: string, window: WindowState): string {
  return `"${name}";r=${window.remaining};t=${secondsOf(window)}`;
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

/** Gives the month of moments given in epoch milliseconds; cheap for one after another of the same month. */
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
