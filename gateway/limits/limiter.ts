import type { Logger } from 'pino';
import type { BatchWriter } from '../database/batch-writer.js';
import type { Access } from '../database/database.js';
import type { KeyLimits, TenantLimits } from '../keys/model.js';
import {
  burstWindowS,
  createMemoryRate,
  createQuotaLedger,
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

/** Whose call it is: what it may is bounded by the tenant's limits, and by the key's own below them. */
export interface LimitedTenant {
  id: string;
  limits: EffectiveLimits;
  key?: { id: string; limits: KeyLimits };
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
export type LimitVerdict =
  | {
      allowed: true;
      /** To be called once with the answer's status: only one below 400 costs quota. */
      settle(status: number): void;
      /** To be called once with the milliseconds of CPU that the call took, whatever its answer. Gives the answer's headers. */
      charge(ms: number): Record<string, string>;
    }
  | LimitRefusal;

export interface LimitRefusal {
  allowed: false;
  code: 'rate_limited' | 'quota_exceeded';
  /** Whose limit is used up, and when there is more. */
  message: string;
  retryAfter: number;
  headers: Record<string, string>;
  /** Of a quota: calls under way have the rest of it, and give it back where they fail. */
  reserved?: true;
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
  const [calls, cpu] = [createQuotaLedger(access), createQuotaLedger(access, ' cpu')];
  for (const ledger of [calls, cpu]) writer.add(ledger);

  /** Counts a call in its rate; its limits are a share of them where the shared counts cannot be reached. */
  async function countRate(state: LimitState): Promise<void> {
    const { id, limits } = state;
    if (shared) {
      state.rate = await shared.run(() => shared.rate.consume(id, limits.rate, limits.burst));
      if (state.rate) return;
      state.limits = shareOf(limits, shared.outageShare);
    }
    state.rate = await ownRate.consume(id, state.limits.rate, state.limits.burst);
  }

  /** Notes what is left of a CPU budget. Nothing is reserved of it: what a call will cost is not known before it ran. */
  async function readBudget(state: LimitState, budgetMs: number, month: string): Promise<void> {
    const account = cpu.account(state.id, month);
    if (!account.loaded) await cpu.open(state.id, month);
    const budget = budgetMs * microseconds;
    const there =
      shared && (await shared.run(() => shared.quota.reserve(account.name, budget, account.charged(), 0)));
    state.cpu = Math.max(0, budget - (there?.used ?? account.used()));
  }

  /** What is shared is not waited for: the order of its commands is that of the calls. */
  function chargeCpu({ id, limits }: LimitState, month: string, amount: number): void {
    const account = cpu.account(id, month);
    const floor = account.charged();
    account.add(amount);
    if (!shared || limits.monthlyCpuMs === null) return;
    void shared.run(() => shared.quota.reserve(account.name, Number.MAX_SAFE_INTEGER, floor, amount));
  }

  /**
   * Reserves a call before it runs; it is charged or given back when it is answered. That makes the quota exact for parallel calls.
   * Where nothing is shared each gateway counts its own calls and learns of the others' with every batch it writes.
   *
   * The limiter library is no help here: it counts refused calls too, and its memory store hands a month to setTimeout, which takes
   * 24.8 days at most and fires at once for more.
   */
  async function reserveCall(state: LimitState, limit: number, month: string) {
    const account = calls.account(state.id, month);
    if (!account.loaded) await calls.open(state.id, month);
    const there =
      shared && (await shared.run(() => shared.quota.reserve(account.name, limit, account.charged(), 1)));
    const used = account.used();
    const here = used < limit ? { granted: true, used: used + 1 } : { granted: false, used };
    const { granted, ...reserved } = there ?? here;
    state.calls = Math.max(0, limit - reserved.used);
    if (!granted) return account.refuse(limit) ? 'reserved' : 'used up';
    account.hold();
    let open = true;
    return function settle(charge: boolean): void {
      if (!open) return;
      open = false;
      if (charge) account.charge();
      else account.release();
      if (there && !charge) void shared?.run(() => shared.quota.release(account.name, account.charged()));
    };
  }

  return {
    /**
     * Counts a call and says whether it may run. Its key and its tenant have to allow it, in this order: what the key refuses consumes
     * nothing of its tenant's, and what the tenant refuses is given back to the key. Never rejects for a Redis or a database that is away.
     */
    async take({ id, limits, key }: LimitedTenant): Promise<LimitVerdict> {
      const ofKey = key && limitsOfKey(key.limits);
      const states = [stateBefore('tenant', id, limits)];
      if (ofKey) states.unshift(stateBefore('key', key.id, ofKey));
      const month = monthOf(now());
      for (const state of states) {
        if (state.limits.rate > 0) await countRate(state);
        if (state.rate && !state.rate.allowed) return refuseRate(state, rateLimitFields(states, month));
      }
      for (const state of states) {
        const { monthlyCpuMs } = state.limits;
        if (monthlyCpuMs !== null) await readBudget(state, monthlyCpuMs, month.name);
        if (state.cpu === 0) return refuseMonth(states, state, month);
      }
      const reserved: ((charge: boolean) => void)[] = [];
      const settleAll = (charge: boolean) => {
        for (const settle of reserved) settle(charge);
      };
      for (const state of states) {
        const { monthlyQuota } = state.limits;
        if (monthlyQuota === null) continue;
        const answer = await reserveCall(state, monthlyQuota, month.name);
        if (typeof answer === 'function') reserved.push(answer);
        else {
          settleAll(false);
          return refuseMonth(states, state, month, answer);
        }
      }
      return {
        allowed: true,
        settle: (status) => settleAll(status < 400),
        charge(ms) {
          const amount = Math.round(ms * microseconds);
          for (const state of states) {
            // A tenant's is counted without a budget too, for one that it is given later in the month.
            const isCounted = state.owner === 'tenant' || state.cpu !== undefined;
            if (isCounted && amount > 0) chargeCpu(state, month.name, amount);
            if (state.cpu !== undefined) state.cpu = Math.max(0, state.cpu - amount);
          }
          return rateLimitFields(states, month);
        },
      };
    },
    /** Ends the connection to what is shared. What is charged is written by the batch writer, which is its owner's to close. */
    close: () => shared?.close(),
  };
}

/** Of CPU are in a millisecond: sums are kept in microseconds, so that short calls are charged what they cost. */
const microseconds = 1000;

/** One object for as long as a key's own are the same one: what each answer says of them is cached by it. */
const resolvedKeys = new WeakMap<KeyLimits, EffectiveLimits>();

/** The limits of a key in a tenant's form; undefined where it has none of its own. */
function limitsOfKey(own: KeyLimits): EffectiveLimits | undefined {
  const { rate, monthly_quota: monthlyQuota, monthly_cpu_ms: monthlyCpuMs } = own;
  if (rate === null && monthlyQuota === null && monthlyCpuMs === null) return undefined;
  const known = resolvedKeys.get(own);
  const limits = known ?? { rate: rate ?? 0, burst: 0, monthlyQuota, inFlight: null, monthlyCpuMs };
  if (!known) resolvedKeys.set(own, limits);
  return limits;
}

function refuseRate({ owner, limits, rate }: LimitState, headers: Record<string, string>) {
  const retryAfter = rate ? secondsOf(rate.second) : 1;
  const message = `The ${owner}'s rate, ${limits.rate} a second, is used up; come back in ${retryAfter} s.`;
  return { allowed: false, code: 'rate_limited', retryAfter, headers, message } as const;
}

/** `lack` is of a quota; without it the CPU budget is used up. */
function refuseMonth(
  states: readonly LimitState[],
  { owner, limits }: LimitState,
  month: Month,
  lack?: 'reserved' | 'used up',
) {
  const calls = limits.monthlyQuota === 1 ? '1 call' : `${limits.monthlyQuota} calls`;
  const limit = lack ? `quota of ${calls}` : `CPU budget of ${limits.monthlyCpuMs} ms`;
  return {
    ...{ allowed: false as const, code: 'quota_exceeded' as const, retryAfter: month.left },
    headers: rateLimitFields(states, month),
    message: `The ${owner}'s monthly ${limit} is used up; the next month begins at ${month.next}.`,
    ...(lack === 'reserved' ? { reserved: true as const } : {}),
  };
}

function shareOf(limits: EffectiveLimits, part: number): EffectiveLimits {
  const rate = Math.max(1, Math.floor(limits.rate * part));
  return { ...limits, rate, burst: Math.floor(limits.burst * part) };
}

function secondsOf({ resetMs }: WindowState): number {
  return Math.max(1, Math.ceil(resetMs / 1000));
}

/** What an answer's fields are made from; a part is missing where there is no such limit. */
interface LimitState {
  owner: 'tenant' | 'key';
  id: string;
  limits: EffectiveLimits;
  rate: RateState | undefined;
  /** Calls that are left, and microseconds of CPU. */
  calls: number | undefined;
  cpu: number | undefined;
}

export function stateBefore(owner: LimitState['owner'], id: string, limits: EffectiveLimits): LimitState {
  return { owner, id, limits, rate: undefined, calls: undefined, cpu: undefined };
}

/** Sent with every answer, and the same until the month or the limits change. */
const policyCache = new WeakMap<EffectiveLimits, { seconds: number; policy: string }>();

function policyOf({ owner, limits }: LimitState, { seconds }: Month): string {
  const last = policyCache.get(limits);
  if (last?.seconds === seconds) return last.policy;
  const { rate, burst, monthlyQuota, inFlight, monthlyCpuMs } = limits;
  const of = owner === 'key' ? 'key-' : '';
  const policies = [
    rate > 0 && `"${of}rate";q=${rate};w=${rateWindowS}`,
    rate > 0 && burst > 0 && `"burst";q=${burst};w=${burstWindowS}`,
    monthlyQuota !== null && `"${of}quota";q=${monthlyQuota};w=${seconds}`,
    monthlyCpuMs !== null && `"${of}cpu";q=${monthlyCpuMs};w=${seconds};qu="cpu-ms"`,
    inFlight !== null && `"in-flight";q=${inFlight};qu="concurrent-requests"`,
  ];
  const policy = policies.filter(Boolean).join(', ');
  policyCache.set(limits, { seconds, policy });
  return policy;
}

/** No list is made to be joined, as this is sent with every answer. */
function statesOf({ owner, rate, calls, cpu }: LimitState, { left }: Month): string {
  const of = owner === 'key' ? 'key-' : '';
  let text = '';
  if (rate) text = stateOf(`${of}rate`, rate.second);
  if (rate?.burst) text = joined(text, stateOf('burst', rate.burst));
  if (calls !== undefined) text = joined(text, `"${of}quota";r=${calls};t=${left}`);
  if (cpu !== undefined) text = joined(text, `"${of}cpu";r=${Math.floor(cpu / microseconds)};t=${left}`);
  return text;
}

const joined = (text: string, more: string): string =>
  text === '' ? more : more === '' ? text : `${text}, ${more}`;

function stateOf(name: string, window: WindowState): string {
  return `"${name}";r=${window.remaining};t=${secondsOf(window)}`;
}

/**
 * The answer's `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10: lists of named policies,
 * `q` units in `w` seconds, and of their states, `r` units left, `t` seconds until there are more): of the tenant and of the key. Empty
 * where neither has limits.
 */
export function rateLimitFields(of: readonly LimitState[], month: Month): Record<string, string> {
  const fields: Record<string, string> = {};
  let [policy, states] = ['', ''];
  for (const state of of) {
    policy = joined(policy, policyOf(state, month));
    states = joined(states, statesOf(state, month));
  }
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
  /** When that is, as ISO 8601. */
  next: string;
}

/** Gives the month of moments given in epoch milliseconds; cheap for one after another of the same month. */
export function createMonthClock(): (at: number) => Month {
  let start = 0;
  let end = 0;
  let name = '';
  let next = '';
  return function monthOf(at) {
    if (at < start || at >= end) {
      const date = new Date(at);
      start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
      end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
      name = date.toISOString().slice(0, 7);
      next = new Date(end).toISOString();
    }
    return { name, seconds: (end - start) / 1000, left: Math.ceil((end - at) / 1000), next };
  };
}
