import { GatewayError } from '../errors.js';
import { randomBase62 } from './base62.js';
import {
  checkLabel,
  checkNumber,
  checkScopes,
  DEFAULT_GRACE_SECONDS,
  InputChecks,
  isKeyId,
  isTenantName,
  MAX_GRACE_SECONDS,
  shown,
} from './checks.js';
import { checkExpiry } from './expiry.js';
import { createKey, parseKey } from './key-format.js';
import type { AuditEntry, Key, KeyWithSecrets, Secret } from './model.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { noTenant } from './tenant-changes.js';
import { isCurrent, iso, isoOrNull, type KeyView, keyState, secretEnded, viewKey } from './views.js';

export interface IssueOptions {
  label?: string | null | undefined;
  /** Service ids or groups such as `text/*`; left out, the key opens every helper. */
  scopes?: string[] | null | undefined;
  /** ISO 8601. */
  expires_at?: string | null | undefined;
}

export interface RotateOptions {
  /** How long the old secret goes on working, in whole seconds; 86400 by default, 0 ends every older one at once. */
  grace_seconds?: number | null | undefined;
}

export interface IssuedKey {
  id: string;
  /** The secret itself, this once. */
  key: string;
  tenant: string;
  label: string | null;
  scopes: string[] | null;
  expires_at: string | null;
}

export interface RotatedKey {
  id: string;
  /** The new secret, this once. */
  key: string;
  /** When the secret that was current until now stops working. */
  previous_expires_at: string;
}

export interface KeyChanges {
  issueKey(tenant: string, options: IssueOptions, actor: string): Promise<IssuedKey>;
  /** Adds a secret; those in an earlier grace keep their own ends. An expired or revoked key is `invalid_input`. */
  rotateKey(id: string, options: RotateOptions, actor: string): Promise<RotatedKey>;
  /** Ends every secret but the current one. */
  endGrace(id: string, actor: string): Promise<KeyView>;
  /** For good; a second time changes nothing. */
  revokeKey(id: string, actor: string): Promise<KeyView>;
}

export function createKeyChanges(
  store: KeyStore,
  services: () => readonly string[],
  now: () => number,
): KeyChanges {
  return {
    async issueKey(tenant, options, actor) {
      const checks = new InputChecks();
      const label = checks.take('label', checkLabel(options.label), null);
      const scopes = checks.take('scopes', checkScopes(options.scopes, services()), null);
      const expires_at = checks.take('expires_at', checkExpiry(options.expires_at, now()), null);
      checks.finish();
      const secret = createKey();
      const id = await store.change(async (tx) => {
        const owner = isTenantName(tenant) ? await tx.tenant(tenant) : undefined;
        if (!owner) throw noTenant(tenant);
        return addKey(tx, { tenant_id: owner.id, label, scopes, expires_at }, secret, actor, now());
      });
      return { id, key: secret, tenant, label, scopes, expires_at: isoOrNull(expires_at) };
    },

    async rotateKey(id, { grace_seconds }, actor) {
      const checks = new InputChecks();
      const bounds = { min: 0, max: MAX_GRACE_SECONDS, integer: true };
      const asked = checks.take('grace_seconds', checkNumber(grace_seconds, bounds), null);
      checks.finish();
      const grace = asked ?? DEFAULT_GRACE_SECONDS;
      const secret = createKey();
      const end = await store.change(async (tx) => {
        const key = await existing(tx, id);
        const at = now();
        refuseDead(key, at);
        const end = Math.min(at + grace * 1000, key.expires_at ?? Number.POSITIVE_INFINITY);
        const ended = await endOlder(tx, key, grace, at, end);
        const added = await addSecret(tx, id, secret, at);
        const detail = { grace_seconds: grace, secret_id: added, ended };
        await tx.audit({ at, actor, action: 'key.rotate', ...subject(key), detail });
        return end;
      });
      return { id, key: secret, previous_expires_at: iso(end) };
    },

    async endGrace(id, actor) {
      const key = await store.change(async (tx) => {
        const key = await existing(tx, id);
        const at = now();
        const ended = key.secrets.filter((secret) => !isCurrent(secret) && !secretEnded(secret, at));
        for (const secret of ended) await tx.endSecret({ ...secret, ended_at: at });
        if (ended.length === 0) return key;
        const detail = { ended: ended.map((secret) => secret.id) };
        await tx.audit({ at, actor, action: 'key.end_grace', ...subject(key), detail });
        return existing(tx, id);
      });
      return viewKey(key, now());
    },

    async revokeKey(id, actor) {
      const key = await store.change(async (tx) => {
        const key = await existing(tx, id);
        if (key.revoked_at !== null) return key;
        const at = now();
        await tx.revokeKey(id, at);
        await tx.audit({ at, actor, action: 'key.revoke', ...subject(key), detail: {} });
        return { ...key, revoked_at: at };
      });
      return viewKey(key, now());
    },
  };
}

/** Adds a key with its first secret and the audit entry; returns its id. */
export async function addKey(
  tx: KeyTransaction,
  given: Pick<Key, 'tenant_id' | 'label' | 'scopes' | 'expires_at'>,
  secret: string,
  actor: string,
  at: number,
): Promise<string> {
  const id = `key_${randomBase62(12)}`;
  await tx.addKey({ ...given, id, created_at: at, revoked_at: null, last_used_at: null });
  await addSecret(tx, id, secret, at);
  const { tenant_id, label, scopes } = given;
  const detail = { label, scopes, expires_at: isoOrNull(given.expires_at) };
  await tx.audit({ at, actor, action: 'key.issue', tenant_id, key_id: id, detail });
  return id;
}

async function addSecret(tx: KeyTransaction, key_id: string, text: string, at: number): Promise<string> {
  const digest = parseKey(text);
  if (!digest) throw new TypeError('A key was made that does not have a key’s form.');
  const id = `sec_${randomBase62(12)}`;
  await tx.addSecret({ id, key_id, ...digest, created_at: at, expires_at: null, ended_at: null });
  return id;
}

/** Gives the current secret its end. With no grace the leak may be older than the last rotation: all of them end. */
async function endOlder(
  tx: KeyTransaction,
  key: KeyWithSecrets,
  grace: number,
  at: number,
  end: number,
): Promise<string[]> {
  const older = key.secrets.filter((secret) => (grace === 0 ? !secretEnded(secret, at) : isCurrent(secret)));
  const expiry = (secret: Secret) => secret.expires_at ?? end;
  for (const secret of older) {
    await tx.endSecret({ id: secret.id, expires_at: expiry(secret), ended_at: grace === 0 ? at : null });
  }
  return older.map((secret) => secret.id);
}

async function existing(tx: KeyTransaction, id: string): Promise<KeyWithSecrets> {
  const key = isKeyId(id) ? await tx.key(id) : undefined;
  if (key) return key;
  const hint = parseKey(id) ? 'This is a key itself; use its id, which begins with key_.' : undefined;
  throw new GatewayError('not_found', { message: hint ?? `There is no key with the id ${shown(id)}.` });
}

function refuseDead(key: KeyWithSecrets, now: number): void {
  const state = keyState(key, now);
  if (state === 'active') return;
  const since = isoOrNull(state === 'revoked' ? key.revoked_at : key.expires_at);
  const problem = `names a key that ${state === 'revoked' ? 'was revoked' : 'expired'} at ${since}; issue a new one`;
  throw new GatewayError('invalid_input', { details: [{ field: 'id', problem }] });
}

function subject(key: Key): Pick<AuditEntry, 'tenant_id' | 'key_id'> {
  return { tenant_id: key.tenant_id, key_id: key.id };
}
