import type { Month } from './month.js';
import type { QuotaState } from './quota.js';
import { burstWindowS, type RateState, rateWindowS } from './rate-gate.js';
import type { EffectiveLimits } from './tenant-limits.js';

/** What an answer's fields are made from; a part is missing where the tenant has no such limit. */
export interface LimitState {
  rate?: RateState;
  quota?: QuotaState;
  month: Month;
}

function policies(limits: EffectiveLimits, month: Month): string[] {
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
const said = new WeakMap<EffectiveLimits, { seconds: number; policy: string }>();

function policyOf(limits: EffectiveLimits, month: Month): string {
  const last = said.get(limits);
  if (last?.seconds === month.seconds) return last.policy;
  const policy = policies(limits, month).join(', ');
  said.set(limits, { seconds: month.seconds, policy });
  return policy;
}

function states({ rate, quota, month }: LimitState): string[] {
  const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000));
  const list: string[] = [];
  if (rate) {
    list.push(`"rate";r=${rate.second.remaining};t=${seconds(rate.second.resetMs)}`);
    if (rate.burst) list.push(`"burst";r=${rate.burst.remaining};t=${seconds(rate.burst.resetMs)}`);
  }
  if (quota) list.push(`"quota";r=${quota.remaining};t=${month.left}`);
  return list;
}

/**
 * The answer's `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10: lists of named policies,
 * `q` units in `w` seconds, and of their states, `r` units left, `t` seconds until there are more). Empty for a tenant
 * without limits.
 */
export function rateLimitFields(limits: EffectiveLimits, state: LimitState): Record<string, string> {
  const fields: Record<string, string> = {};
  const policy = policyOf(limits, state.month);
  const known = states(state);
  if (policy !== '') fields['RateLimit-Policy'] = policy;
  if (known.length > 0) fields.RateLimit = known.join(', ');
  return fields;
}
