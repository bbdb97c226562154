import type { AuditEntry, FoundKey, FoundSecret, Key, KeyWithSecrets, Secret, Tenant } from './model.js';

/** What a change touched. */
export interface Change {
  /** The audit entry's id and time. */
  id: number;
  at: number;
  tenant_id: string | null;
  key_id: string | null;
}

export interface TenantPage {
  /** The last name of the page before. */
  after?: string | undefined;
  limit: number;
}

export interface KeyPage {
  /** The last id of the page before. */
  after?: string | undefined;
  limit: number;
}

export interface AuditPage {
  tenant_id?: string | undefined;
  key_id?: string | undefined;
  /** Only entries older than this id. */
  before?: number | undefined;
  limit: number;
}

/** What may be done inside `KeyStore.change`. */
export interface KeyTransaction {
  hasTenants(): Promise<boolean>;
  tenant(name: string): Promise<Tenant | undefined>;
  key(id: string): Promise<KeyWithSecrets | undefined>;
  addTenant(tenant: Tenant): Promise<void>;
  setLimits(tenant: Pick<Tenant, 'id' | 'limits' | 'weight'>): Promise<void>;
  setWebhookVersion(tenant: Pick<Tenant, 'id' | 'webhook_version' | 'webhook_rotated_at'>): Promise<void>;
  addKey(key: Key): Promise<void>;
  revokeKey(id: string, at: number): Promise<void>;
  setSigningVersion(id: string, version: number): Promise<void>;
  addSecret(secret: Secret): Promise<void>;
  endSecret(secret: Pick<Secret, 'id' | 'expires_at' | 'ended_at'>): Promise<void>;
  audit(entry: Omit<AuditEntry, 'id'>): Promise<void>;
}

/** What may be read of tenants, keys and their audit log. */
export interface KeyReads {
  /** By name. */
  tenants(page: TenantPage): Promise<Tenant[]>;
  tenant(name: string): Promise<Tenant | undefined>;
  /** Oldest first. */
  keys(tenant_id: string, page: KeyPage): Promise<KeyWithSecrets[]>;
  key(id: string): Promise<KeyWithSecrets | undefined>;
  /** What belongs to these hashes, in one read. */
  find(hashes: string[]): Promise<FoundSecret[]>;
  /** The keys with these ids, in one read. */
  findKeys(ids: string[]): Promise<FoundKey[]>;
  /** Newest first. */
  audit(page: AuditPage): Promise<AuditEntry[]>;
  lastChange(): Promise<Change | undefined>;
  /** Changes from this id on, that one included, oldest first. */
  changesFrom(id: number, limit: number): Promise<Change[]>;
}

/**
 * Tenants, keys and their audit log. Where the database does not answer, every method rejects with a `DatabaseError`, whose cause
 * says why.
 */
export interface KeyStore extends KeyReads {
  /**
   * Runs `work` as one transaction, one at a time over all processes: all of it is durable once this resolves, or
   * nothing of it happened. `work` may run again after a conflict, so it must do nothing but use `tx`.
   */
  change<T>(work: (tx: KeyTransaction) => Promise<T>): Promise<T>;
  /** Tells of this process's own changes, once committed; returns the way to stop it. */
  onChange(listener: (changes: Omit<Change, 'id'>[]) => void): () => void;
  /**
   * Writes when keys were last used (ms, by key id), in the order given and in many transactions where they are many; never moves
   * a time back.
   */
  touch(lastUsed: ReadonlyMap<string, number>): Promise<void>;
}
