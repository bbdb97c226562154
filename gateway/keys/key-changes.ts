import { quote } from '../../schemas/quote.js';
import { parseTime } from '../../schemas/vocabulary/future.js';
import { GatewayError, inputError, requireValid } from '../errors.js';
import { type SigningSecrets, signingSecretPrefix } from '../signing/signing-secrets.js';
import { randomBase62 } from './base62.js';
import { isKeyId } from './checks.js';
import type { IssueOptions, KeyInputs, RotateOptions } from './inputs.js';
import { createKey, digestOf, parseKey } from './key-format.js';
import type { AuditEntry, Key, KeyWithSecrets, Secret } from './model.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { findTenant } from './tenant-changes.js';
import { isCurrent, iso, isoOrNull, type KeyView, keyState, secretEnded, viewKey } from './views.js';

export interface IssuedKey {
  id: string;
  /** The secret itself, this once. */
  key: string;
  tenant: string;
  label: string | null;
  scopes: string[] | null;
  expires_at: string | null;
  /** What signs urls for it; null where this gateway has no master secret. */
  signing_secret: string | null;
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

/** Of a new key's signing secret. */
const firstVersion = 1;

export function createKeyChanges(
  store: KeyStore,
  inputs: Pick<KeyInputs, 'key' | 'rotation'>,
  signing: SigningSecrets,
  now: () => number,
): KeyChanges {
  return {
    async issueKey(tenant, options, actor) {
      const given = requireValid(inputs.key.check(options));
      const label = given.label ?? null;
      const scopes = given.scopes ? [...new Set(given.scopes)] : null;
      const expires_at = parseTime(given.expires_at ?? '') ?? null;
      const secret = createKey();
      const id = await store.change(async (tx) => {
        const { id: tenant_id } = await findTenant(tx, tenant);
        return addKey(tx, { tenant_id, label, scopes, expires_at }, secret, actor, now());
      });
      const signing_secret = signing.available ? signing.current(id, firstVersion) : null;
      return { id, key: secret, tenant, label, scopes, expires_at: isoOrNull(expires_at), signing_secret };
    },

    async rotateKey(id, options, actor) {
      const { grace_seconds: grace } = requireValid(inputs.rotation.check(options));
      const secret = createKey();
      const end = await store.change(async (tx) => {
        const key = await findKey(tx, id);
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
        const key = await findKey(tx, id);
        const at = now();
        const ended = key.secrets.filter((secret) => !isCurrent(secret) && !secretEnded(secret, at));
        for (const secret of ended) await tx.endSecret({ ...secret, ended_at: at });
        if (ended.length === 0) return key;
        const detail = { ended: ended.map((secret) => secret.id) };
        await tx.audit({ at, actor, action: 'key.end_grace', ...subject(key), detail });
        return findKey(tx, id);
      });
      return viewKey(key, now());
    },

    async revokeKey(id, actor) {
      const key = await store.change(async (tx) => {
        const key = await findKey(tx, id);
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
  await tx.addKey({
    ...given,
    id,
    created_at: at,
    revoked_at: null,
    last_used_at: null,
    signing_version: firstVersion,
  });
  await addSecret(tx, id, secret, at);
  const { tenant_id, label, scopes } = given;
  const detail = { label, scopes, expires_at: isoOrNull(given.expires_at) };
  await tx.audit({ at, actor, action: 'key.issue', tenant_id, key_id: id, detail });
  return id;
}

async function addSecret(tx: KeyTransaction, key_id: string, text: string, at: number): Promise<string> {
  const id = `sec_${randomBase62(12)}`;
  await tx.addSecret({ id, key_id, ...digestOf(text), created_at: at, expires_at: null, ended_at: null });
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

/** The key with this id; rejects with `not_found` where there is none. */
export async function findKey(reads: Pick<KeyTransaction, 'key'>, id: string): Promise<KeyWithSecrets> {
  const key = isKeyId(id) ? await reads.key(id) : undefined;
  if (key) return key;
  throw new GatewayError('not_found', {
    message: secretHint(id) ?? `There is no key with the id ${quote(id)}.`,
  });
}

/** What to say of a secret in an id's place, which is not to be repeated. */
function secretHint(id: string): string | undefined {
  if (parseKey(id)) return 'This is a key itself; use its id, which begins with key_.';
  if (!id.startsWith(signingSecretPrefix)) return undefined;
  return 'This is a signing secret; use the id of its key, which begins with key_.';
}

/** Throws `invalid_input` for a key that can be used no more. */
export function refuseDead(key: KeyWithSecrets, now: number): void {
  const state = keyState(key, now);
  if (state === 'active') return;
  const since = isoOrNull(state === 'revoked' ? key.revoked_at : key.expires_at);
  const problem = `names a key that ${state === 'revoked' ? 'was revoked' : 'expired'} at ${since}; issue a new one`;
  throw inputError([{ field: 'id', problem }]);
}

/** The key as the audit log names it. */
export function subject(key: Key): Pick<AuditEntry, 'tenant_id' | 'key_id'> {
  return { tenant_id: key.tenant_id, key_id: key.id };
}
