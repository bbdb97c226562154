import type { Month } from './month.js';
import type { QuotaState } from './quota.js';
import { burstWindowS, type RateState, rateWindowS, type WindowState } from './rate-gate.js';
import type { EffectiveLimits } from './tenant-limits.js';

/** What an answer's fields are made from; a part is missing where the tenant has no such limit. */
export interface LimitState {
  rate?: RateState | undefined;
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
