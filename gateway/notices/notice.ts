import { iso } from '../keys/model.js';

const dayMs = 86_400_000;

/** Of a monthly limit, in percent, the highest first. */
const budgetThresholds = [100, 80, 50];
/** Days before the expiry of a key, the nearest first. */
const expiryThresholds = [1, 7, 30];
/** From when on a key is looked at. */
export const expiringForMs = Math.max(...expiryThresholds) * dayMs;
/** An older expiry is no news: all gateways were down, or were of a version without notices. */
export const expiredForMs = 7 * dayMs;

export const noticeTypes = ['tenant.budget', 'key.expiring', 'key.expired', 'webhook.failing'] as const;

/** What happened; `data` is for programs, with `text` for people. Names are those of that time. */
export interface Noticed {
  type: (typeof noticeTypes)[number];
  /** Both are null for what is the operator's own. */
  data: Record<'tenant' | 'tenant_id', string | null> & { text: string } & Record<
      string,
      string | number | null
    >;
}

/** What is worth a notice now. */
export interface Found extends Noticed {
  /** What is noticed once: one of a name is stored, whichever process finds it, and however often. */
  name: string;
  noticeUrl: string | null;
}

export interface NoticedTenant {
  id: string;
  name: string;
  notice_url: string | null;
}

const { format: count } = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const { format: nameMonth } = new Intl.DateTimeFormat('en', {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});

/** The limits of a month that are watched: their names in the API, what they count, and how many of a unit make one shown. */
export const budgets = {
  monthly_quota: { what: 'calls', unit: '', per: 1 },
  monthly_cpu_ms: { what: 'CPU time', unit: ' s', per: 1000 },
};

/** Of the highest threshold that use has reached; another limit has thresholds of its own. */
export function budgetNotice(
  { limit, used, ...tenant }: NoticedTenant & { limit: number; used: number },
  budget: keyof typeof budgets,
  period: string,
): Found | undefined {
  const threshold = budgetThresholds.find((percent) => used * 100 >= percent * limit);
  if (threshold === undefined) return undefined;
  const { what, unit, per } = budgets[budget];
  const percent = Math.floor((used * 100) / limit);
  const figures = `${count(used / per)} of ${count(limit / per)}${unit} in ${nameMonth(new Date(period))}`;
  const text =
    threshold === 100
      ? `${tenant.name} has used up its monthly ${what}: ${figures}. Calls are refused until the month ends.`
      : `${tenant.name} has used ${percent} % of its monthly ${what}: ${figures}.`;
  const name = `tenant.budget ${tenant.id} ${budget} ${period} ${limit} ${threshold}`;
  return {
    ...{ type: 'tenant.budget', name, noticeUrl: tenant.notice_url },
    data: { ...named(tenant), budget, limit, used, percent, threshold, period, text },
  };
}

export interface ExpiringKey extends NoticedTenant {
  key: string;
  label: string | null;
  created_at: number;
  expires_at: number;
}

/** Of the nearest threshold, unless the key was issued within it: who issued it knew. */
export function keyNotice(found: ExpiringKey, now: number): Found | undefined {
  const { key, label, created_at, expires_at, notice_url: noticeUrl } = found;
  const left = expires_at - now;
  const time = iso(expires_at);
  const day = time.slice(0, 10);
  const data = (end: string) => {
    const text = `The key ${label === null ? key : `${label} (${key})`} of ${found.name} ${end}`;
    return { ...named(found), key, label, expires_at: time, text };
  };
  if (left <= 0) {
    const name = `key.expired ${key} ${expires_at}`;
    return { type: 'key.expired', name, noticeUrl, data: data(`expired on ${day}.`) };
  }
  const threshold = expiryThresholds.find((days) => left <= days * dayMs);
  if (threshold === undefined || expires_at - threshold * dayMs <= created_at) return undefined;
  const days_left = Math.ceil(left / dayMs);
  const end = `expires in ${days_left === 1 ? '1 day' : `${days_left} days`}, on ${day}.`;
  return {
    ...{ type: 'key.expiring', name: `key.expiring ${key} ${expires_at} ${threshold}`, noticeUrl },
    data: { ...data(end), days_left },
  };
}

/** Deliveries of a tenant, or of the operator, to one url. */
export interface FailingWebhook {
  tenant_id: string;
  name: string | null;
  notice_url: string | null;
  url: string;
  waiting: number;
  attempts: number;
  since: number;
}

/** Once a day (UTC) for a host. Of the url its host alone: many have a secret in the rest. */
export function webhookNotice({ name: tenant, ...found }: FailingWebhook, now: number): Found {
  const { tenant_id, notice_url: noticeUrl, url, waiting, attempts, since } = found;
  const { host } = new URL(url);
  const begun = `${iso(since).slice(0, 16).replace('T', ' ')} UTC`;
  const figures = `${count(waiting)} waiting, up to ${attempts} attempts`;
  const text = `Webhooks of ${tenant ?? 'the operator'} to ${host} have failed since ${begun}: ${figures}.`;
  const of = { tenant, tenant_id: tenant === null ? null : tenant_id };
  const name = `webhook.failing ${tenant_id} ${host} ${iso(now).slice(0, 10)}`;
  return {
    ...{ type: 'webhook.failing', name, noticeUrl },
    data: { ...of, host, waiting, attempts, since: iso(since), text },
  };
}

function named({ id, name }: NoticedTenant) {
  return { tenant: name, tenant_id: id };
}
