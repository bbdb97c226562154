import type { AuditEntry } from '../../../gateway/keys/audit-text.js';
import type { Key, Plan, Secret, TenantLimits } from '../../../gateway/keys/model.js';
import { digestOf, iso, noKeyLimits, noLimits } from '../../../gateway/keys/model.js';
import type { KeyRow, TenantRow } from '../../../gateway/keys/tables.js';
import { type Draw, drawCompanies, labels } from './draw.js';

export const dayMs = 86_400_000;

export interface SeedSize {
  tenants: number;
  keys: number;
  days: number;
  /** The same number gives the same rows. */
  seed: number;
  now: number;
}

/** One to be inserted; its id follows from its time. */
export type NewAudit = Omit<AuditEntry, 'id'>;

export interface SeedTenant {
  row: Omit<TenantRow, 'webhook_version'>;
  keys: SeedKey[];
  /** Its calls beside another's. */
  weight: number;
}

export interface SeedKey {
  row: KeyRow;
  secrets: Secret[];
  /** What its programs send. */
  text: string;
}

const plan = (name: string, limits: Partial<TenantLimits>, weight: number | null, now: number): Plan => ({
  ...{ name, limits: { ...noLimits, ...limits }, weight },
  ...{ created_at: now - 390 * dayMs, updated_at: now - 20 * dayMs },
});

export function plansOf(now: number): Plan[] {
  return [
    plan('free', { rate: 5, monthly_quota: 5_000, monthly_cpu_ms: 300_000, in_flight: 2 }, null, now),
    plan('team', { rate: 25, burst: 50, monthly_quota: 200_000, monthly_cpu_ms: 12_000_000 }, 2, now),
    plan('business', { rate: 100, burst: 300, monthly_quota: 2_000_000, in_flight: 32 }, 5, now),
    plan('enterprise', { rate: 500, burst: 2_000 }, 20, now),
  ];
}

const operators = ['user:operator@example.com', 'user:grace.okafor@example.com', 'cli:root'];

/** Tenants from the busiest to the quietest, the newest of them without keys, and what was done with them. */
export function drawTenants(draw: Draw, { tenants: count, keys, days, now }: SeedSize) {
  const audit: NewAudit[] = [];
  const names = drawCompanies(draw, count);
  const tenants = names.map((name, rank): SeedTenant => {
    const isNew = rank >= count * 0.98;
    const created_at = now - (isNew ? draw.share() : draw.whole(2, days + 300) - draw.share()) * dayMs;
    return {
      row: { ...drawTenant(draw, name, rank / count), created_at: Math.round(created_at) },
      ...{ keys: [], weight: isNew ? 0 : (rank + 1) ** -0.8 },
    };
  });
  for (const { row } of tenants) auditTenant(draw, row, audit, now);

  const active = tenants.filter(({ weight }) => weight > 0);
  const busy = draw.weighted(active, ({ weight }) => weight);
  for (let at = 0; at < keys; at += 1) {
    // Each has one; the rest go to the busy ones.
    const tenant = active[at] ?? busy.one();
    if (tenant) tenant.keys.push(drawKey(draw, tenant.row, now, audit));
  }
  for (const { keys } of tenants) keys.sort((a, b) => a.row.created_at - b.row.created_at);
  audit.sort((a, b) => a.at - b.at);
  return { tenants, audit };
}

function drawTenant(draw: Draw, name: string, place: number) {
  const [planName] = (['enterprise', 'business', 'team', 'free'] as const).slice(
    Math.floor(place ** 0.5 * 4),
  );
  const own_weight = draw.chance(0.04) ? draw.whole(2, 40) : null;
  const isNoted = draw.chance(0.1);
  return {
    ...{ id: `ten_${draw.text(10)}`, name, own_weight, weight: own_weight ?? 1 },
    ...noLimits,
    rate: draw.chance(0.06) ? draw.whole(1, 40) * 5 : null,
    monthly_quota: draw.chance(0.05) ? draw.whole(1, 90) * 1_000 : null,
    plan: draw.chance(0.85) ? (planName ?? null) : null,
    suspended_at: null as number | null,
    external_id: draw.chance(0.6) ? `cus_${draw.text(14)}` : null,
    note: isNoted
      ? draw.one(['Pays by invoice.', 'Trial until March.', 'Ask Grace before a suspension.'])
      : null,
    notice_url: draw.chance(0.03) ? `https://hooks.${name}.example/gateway` : null,
    webhook_rotated_at: null,
  };
}

function auditTenant(draw: Draw, row: Omit<TenantRow, 'webhook_version'>, audit: NewAudit[], now: number) {
  const actor = () => draw.one(operators);
  const of = { tenant_id: row.id, key_id: null };
  const later = () => Math.round(row.created_at + draw.share() * (now - row.created_at));
  audit.push({
    ...of,
    at: row.created_at,
    actor: actor(),
    action: 'tenant.create',
    detail: { name: row.name },
  });
  if (row.rate !== null) {
    audit.push({ ...of, at: later(), actor: actor(), action: 'tenant.limits', detail: { rate: row.rate } });
  }
  if (!draw.chance(0.02)) return;
  row.suspended_at = later();
  audit.push({ ...of, at: row.suspended_at, actor: actor(), action: 'tenant.suspend', detail: {} });
}

const scopes = [
  null,
  null,
  '["media/*"]',
  '["text/*"]',
  '["media/resize","media/convert"]',
  '["media/add-watermark"]',
];

function drawKey(draw: Draw, tenant: SeedTenant['row'], now: number, audit: NewAudit[]): SeedKey {
  const { share, chance, whole } = draw;
  const created_at = Math.round(tenant.created_at + share() ** 2 * (now - tenant.created_at));
  const later = () => Math.round(created_at + share() * (now - created_at));
  const [id, fate] = [`key_${draw.text(10)}`, share()];
  const row: KeyRow = {
    ...{ id, tenant_id: tenant.id, created_at, last_used_at: null, signing_version: 1 },
    label: chance(0.8) ? draw.one(labels) : null,
    scopes: draw.one(scopes),
    ...{ expires_at: null, revoked_at: null, paused_at: null },
    ...noKeyLimits,
    rate: chance(0.06) ? whole(1, 10) : null,
    monthly_quota: chance(0.04) ? whole(1, 50) * 100 : null,
  };
  const by = `user:dev@${tenant.name}.example`;
  const note = (at: number, action: AuditEntry['action'], detail: NewAudit['detail'] = {}, actor = by) =>
    audit.push({ at, actor, action, tenant_id: tenant.id, key_id: id, detail });

  if (fate < 0.12) row.revoked_at = later();
  else if (fate < 0.16) row.expires_at = later();
  else if (fate < 0.19) row.paused_at = later();
  else if (fate < 0.27) row.expires_at = now + whole(1, 40) * dayMs;
  const issued = { label: row.label, scopes: JSON.parse(row.scopes ?? 'null') };
  note(created_at, 'key.issue', { ...issued, expires_at: row.expires_at && iso(row.expires_at) });
  if (row.revoked_at) note(row.revoked_at, 'key.revoke');
  if (row.paused_at) note(row.paused_at, 'key.pause', {}, draw.one(operators));

  const text = draw.key();
  const secret = (of: string, at: number, changes: Partial<Secret> = {}): Secret => ({
    ...{ id: `sec_${draw.text(10)}`, key_id: id, ...digestOf(of), created_at: at },
    ...{ expires_at: null, ended_at: null, ...changes },
  });
  const isRotated = chance(0.12);
  const rotated = chance(0.4) ? now - share() * dayMs : later();
  const graceMs = draw.one([3_600_000, dayMs, 7 * dayMs]);
  const before = isRotated
    ? [secret(draw.key(), created_at, { expires_at: Math.round(rotated + graceMs) })]
    : [];
  if (isRotated) note(Math.round(rotated), 'key.rotate', { grace_seconds: graceMs / 1000 });
  return { row, text, secrets: [...before, secret(text, isRotated ? Math.round(rotated) : created_at)] };
}

/** Whether calls with a key were answered at a moment. */
export function livedAt(
  { created_at, expires_at, revoked_at, paused_at }: Key | KeyRow,
  at: number,
): boolean {
  const end = Math.min(
    ...[expires_at, revoked_at, paused_at].map((time) => time ?? Number.POSITIVE_INFINITY),
  );
  return created_at <= at && at < end;
}
