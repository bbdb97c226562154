/** A tenant's own values, as they are stored; null takes the gateway's default. What holds then is `EffectiveLimits`. */
export interface TenantLimits {
  /** Requests a second; 0 is no limit. */
  rate: number | null;
  /** Requests that may come at once on top of a steady rate. */
  burst: number | null;
  /** Successful calls a calendar month (UTC). */
  monthly_quota: number | null;
  /** Pool tasks waiting or running at once. */
  in_flight: number | null;
}

/** A customer or team: the owner of keys, and the unit of limits and fairness. All times are ms since 1970. */
export interface Tenant {
  id: string;
  name: string;
  created_at: number;
  limits: TenantLimits;
  /** Its share of the pool against the other tenants', 1 to 100. */
  weight: number;
  /** Rises when the secret of its webhooks is replaced. */
  webhook_version: number;
  /** When that was last; webhooks are signed with the secret before as well for a while. */
  webhook_rotated_at: number | null;
}

/** An identity that lasts over rotations; what a caller sends is one of its secrets. */
export interface Key {
  /** Public, e.g. `key_4fGhJ2kLm9`. */
  id: string;
  tenant_id: string;
  label: string | null;
  /** Service ids or groups such as `text/*`; null is every helper. */
  scopes: string[] | null;
  expires_at: number | null;
  created_at: number;
  revoked_at: number | null;
  last_used_at: number | null;
  /** Rises when its signing secret is replaced; what was signed with an earlier version has ended. */
  signing_version: number;
}

/** One string that opens a key. The string itself is kept nowhere. */
export interface Secret {
  id: string;
  key_id: string;
  /** SHA-256, hexadecimal. */
  hash: string;
  prefix: string;
  suffix: string;
  created_at: number;
  /** The end of its grace, once a newer secret has taken its place. */
  expires_at: number | null;
  /**
   * Set where it was ended by hand. Kept apart from `expires_at`, because a clock set back must not bring a leaked
   * secret to life again.
   */
  ended_at: number | null;
}

export interface KeyWithSecrets extends Key {
  /** Oldest first. */
  secrets: Secret[];
}

/** All that a look-up by id brings. */
export interface FoundKey {
  key: Key;
  tenant: Tenant;
}

/** All that a look-up by hash brings. */
export interface FoundSecret extends FoundKey {
  secret: Secret;
}

export type AuditAction =
  | 'tenant.create'
  | 'tenant.limits'
  | 'tenant.webhook_secret'
  | 'tenant.rotate_webhook_secret'
  | 'key.issue'
  | 'key.rotate'
  | 'key.end_grace'
  | 'key.revoke'
  | 'key.signing_secret'
  | 'key.rotate_signing'
  | 'member.invite'
  | 'member.cancel_invite'
  | 'member.join'
  | 'member.remove'
  | 'account.sign_in'
  | 'account.sign_in_failed'
  | 'account.change_password'
  | 'account.connect'
  | 'operator.reset';

/** Who did what. Only ever added to; never holds a secret. */
export interface AuditEntry {
  /** Rises in the order of the commits, so that it serves as the feed of changes too. */
  id: number;
  at: number;
  actor: string;
  action: AuditAction;
  tenant_id: string | null;
  key_id: string | null;
  detail: Record<string, unknown>;
}
