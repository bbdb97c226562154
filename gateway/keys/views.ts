import type { AuditAction, AuditEntry, KeyWithSecrets, Secret, Tenant, TenantLimits } from './model.js';

export type KeyState = 'active' | 'expired' | 'revoked';

/** A tenant as people and the JSON API see it; times are ISO 8601 in UTC. */
export interface TenantView {
  id: string;
  name: string;
  created_at: string;
  limits: TenantLimits;
  weight: number;
}

export interface SecretView {
  id: string;
  /** First and last characters, e.g. `hg_Ab3d…x9Yz`. */
  hint: string;
  created_at: string;
  /** The end of its grace; null for the current secret. */
  expires_at: string | null;
}

/** A key without anything secret. */
export interface KeyView {
  id: string;
  label: string | null;
  scopes: string[] | null;
  state: KeyState;
  /** Of the current secret. */
  hint: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Up to 5 s behind. */
  last_used_at: string | null;
  /** The secrets that still work: the current one first, then those in their grace. */
  secrets: SecretView[];
}

export interface AuditView {
  id: number;
  at: string;
  actor: string;
  action: AuditAction;
  tenant_id: string | null;
  key_id: string | null;
  detail: Record<string, unknown>;
}

export function viewTenant({ id, name, created_at, limits, weight }: Tenant): TenantView {
  return { id, name, created_at: iso(created_at), limits, weight };
}

export function viewKey(key: KeyWithSecrets, now: number): KeyView {
  const current = key.secrets.find(isCurrent);
  const state = keyState(key, now);
  const inGrace = key.secrets.filter((secret) => secret !== current && !secretEnded(secret, now));
  const working = state === 'active' ? [...(current ? [current] : []), ...inGrace] : [];
  return {
    id: key.id,
    label: key.label,
    scopes: key.scopes,
    state,
    hint: current ? hintOf(current) : '',
    created_at: iso(key.created_at),
    expires_at: isoOrNull(key.expires_at),
    revoked_at: isoOrNull(key.revoked_at),
    last_used_at: isoOrNull(key.last_used_at),
    secrets: working.map((secret) => ({
      id: secret.id,
      hint: hintOf(secret),
      created_at: iso(secret.created_at),
      expires_at: isoOrNull(secret.expires_at),
    })),
  };
}

export function viewAudit(entry: AuditEntry): AuditView {
  return { ...entry, at: iso(entry.at) };
}

/** A key is revoked for good, whatever else is true of it. */
export function keyState(
  key: { revoked_at: number | null; expires_at: number | null },
  now: number,
): KeyState {
  if (key.revoked_at !== null) return 'revoked';
  return key.expires_at !== null && key.expires_at <= now ? 'expired' : 'active';
}

/** The secret that the last rotation brought: the only one without an end. */
export function isCurrent(secret: Secret): boolean {
  return secret.ended_at === null && secret.expires_at === null;
}

export function secretEnded(secret: Pick<Secret, 'ended_at' | 'expires_at'>, now: number): boolean {
  return secret.ended_at !== null || (secret.expires_at !== null && secret.expires_at <= now);
}

export function iso(time: number): string {
  return new Date(time).toISOString();
}

export function isoOrNull(time: number | null): string | null {
  return time === null ? null : iso(time);
}

function hintOf({ prefix, suffix }: Secret): string {
  return `${prefix}…${suffix}`;
}
