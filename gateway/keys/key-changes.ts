import { parseTime } from '../../schemas/keywords/future.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError, inputError, requireValid } from '../errors.js';
import { endProblem, signUrl } from '../signing/signed-url.js';
import { type SigningSecrets, signingSecretPrefix } from '../signing/signing-secrets.js';
import type { IssueOptions, KeyInputs, RotateOptions } from './inputs.js';
import { createKey, digestOf, parseKey, randomBase62 } from './key-format.js';
import {
  type AuditEntry,
  isCurrent,
  iso,
  isoOrNull,
  type Key,
  type KeyView,
  type KeyWithSecrets,
  keyState,
  type Secret,
  scopeAllows,
  secretEnded,
  viewKey,
} from './model.js';
import { isKeyId } from './schemas.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { addTenant, findTenant } from './tenant-changes.js';

interface IssuedKey {
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

interface RotatedKey {
  id: string;
  /** The new secret, this once. */
  key: string;
  /** When the secret that was current until now stops working. */
  previous_expires_at: string;
}

/** Of a new key's signing secret. */
const firstSigningVersion = 1;

export function createKeyChanges(
  store: KeyStore,
  inputs: Pick<KeyInputs, 'key' | 'rotation'>,
  signing: SigningSecrets,
  now: () => number,
) {
  return {
    async issueKey(tenant: string, options: IssueOptions, actor: string): Promise<IssuedKey> {
      const given = requireValid(inputs.key.check(options));
      const label = given.label ?? null;
      const scopes = given.scopes ? [...new Set(given.scopes)] : null;
      const expires_at = parseTime(given.expires_at ?? '') ?? null;
      const secret = createKey();
      const id = await store.change(async (tx) => {
        const { id: tenant_id } = await findTenant(tx, tenant);
        return addKey(tx, { tenant_id, label, scopes, expires_at }, secret, actor, now());
      });
      const signing_secret = signing.available ? signing.current(id, firstSigningVersion) : null;
      return { id, key: secret, tenant, label, scopes, expires_at: isoOrNull(expires_at), signing_secret };
    },

    /** Adds a secret; those in an earlier grace keep their own ends. An expired or revoked key is `invalid_input`. */
    async rotateKey(id: string, options: RotateOptions, actor: string): Promise<RotatedKey> {
      const { grace_seconds: grace } = requireValid(inputs.rotation.check(options));
      const secret = createKey();
      const end = await store.change(async (tx) => {
        const key = await findKey(tx, id);
        const at = now();
        requireLiveKey(key, at);
        const end = Math.min(at + grace * 1000, key.expires_at ?? Number.POSITIVE_INFINITY);
        const ended = await endOlder(tx, key, grace, at, end);
        const added = await addSecret(tx, id, secret, at);
        const detail = { grace_seconds: grace, secret_id: added, ended };
        await tx.audit({ at, actor, action: 'key.rotate', ...auditSubject(key), detail });
        return end;
      });
      return { id, key: secret, previous_expires_at: iso(end) };
    },

    /** Ends every secret but the current one. */
    async endGrace(id: string, actor: string): Promise<KeyView> {
      const key = await store.change(async (tx) => {
        const key = await findKey(tx, id);
        const at = now();
        const ended = key.secrets.filter((secret) => !isCurrent(secret) && !secretEnded(secret, at));
        for (const secret of ended) await tx.endSecret({ ...secret, ended_at: at });
        if (ended.length === 0) return key;
        const detail = { ended: ended.map((secret) => secret.id) };
        await tx.audit({ at, actor, action: 'key.end_grace', ...auditSubject(key), detail });
        return findKey(tx, id);
      });
      return viewKey(key, now());
    },

    /** For good; a second time changes nothing. */
    async revokeKey(id: string, actor: string): Promise<KeyView> {
      const key = await store.change(async (tx) => {
        const key = await findKey(tx, id);
        if (key.revoked_at !== null) return key;
        const at = now();
        await tx.revokeKey(id, at);
        await tx.audit({ at, actor, action: 'key.revoke', ...auditSubject(key), detail: {} });
        return { ...key, revoked_at: at };
      });
      return viewKey(key, now());
    },
  };
}

/** Adds a key with its first secret and the audit entry; returns its id. */
async function addKey(
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
    signing_version: firstSigningVersion,
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

/** The message for a secret in place of an id, which does not repeat it. */
function secretHint(id: string): string | undefined {
  if (parseKey(id)) return 'This is a key itself; use its id, which begins with key_.';
  if (!id.startsWith(signingSecretPrefix)) return undefined;
  return 'This is a signing secret; use the id of its key, which begins with key_.';
}

/** Throws `invalid_input` for a key that can be used no more. */
function requireLiveKey(key: KeyWithSecrets, now: number): void {
  const state = keyState(key, now);
  if (state === 'active') return;
  const since = isoOrNull(state === 'revoked' ? key.revoked_at : key.expires_at);
  const problem = `names a key that ${state === 'revoked' ? 'was revoked' : 'expired'} at ${since}; issue a new one`;
  throw inputError([{ field: 'id', problem }]);
}

/** The key as the audit log names it. */
function auditSubject(key: Key): Pick<AuditEntry, 'tenant_id' | 'key_id'> {
  return { tenant_id: key.tenant_id, key_id: key.id };
}

/** The name of the first tenant. */
export const firstTenant = 'demo';

export interface FirstKey {
  tenant: string;
  /** The key's public id. */
  id: string;
  /** The key itself: to be printed now, it is stored nowhere. */
  key: string;
}

/**
 * Makes the tenant `demo` with one key for every helper where there is no tenant at all; otherwise returns undefined. Of
 * several gateways that start at once on one database, one does it.
 */
export async function createFirstTenant(
  store: KeyStore,
  now: () => number = Date.now,
): Promise<FirstKey | undefined> {
  const key = createKey();
  return store.change(async (tx) => {
    if (await tx.hasTenants()) return undefined;
    const { id: tenant_id, name } = await addTenant(tx, firstTenant, 'first start', now());
    const given = { tenant_id, label: 'first key', scopes: null, expires_at: null };
    return { tenant: name, id: await addKey(tx, given, key, 'first start', now()), key };
  });
}

interface SigningSecret {
  /** The key's id, the `kid` of urls. */
  id: string;
  signing_secret: string;
}

/** Where the gateway has no master secret, these reject with `storage_unavailable`, which names HELPER_SIGNING_SECRET. */
export function createSigningChanges(store: KeyStore, signing: SigningSecrets, now: () => number) {
  /** Changes a key that works; returns the version of its signing secret that holds then. */
  async function withSecret(
    id: string,
    change: (tx: KeyTransaction, key: Key, at: number) => Promise<number>,
  ): Promise<SigningSecret> {
    signing.requireMaster();
    const version = await store.change(async (tx) => {
      const key = await findKey(tx, id);
      const at = now();
      requireLiveKey(key, at);
      return change(tx, key, at);
    });
    return { id, signing_secret: signing.current(id, version) };
  }

  return {
    /** Shows what signs urls for a key, which is noted. An expired or revoked key is `invalid_input`. */
    signingSecret: (id: string, actor: string): Promise<SigningSecret> =>
      withSecret(id, async (tx, key, at) => {
        await tx.audit({ at, actor, action: 'key.signing_secret', ...auditSubject(key), detail: {} });
        return key.signing_version;
      }),

    /** Replaces it; urls that were signed before open nothing any more. The key itself stays. */
    rotateSigning: (id: string, actor: string): Promise<SigningSecret> =>
      withSecret(id, async (tx, key, at) => {
        const signing_version = key.signing_version + 1;
        await tx.setSigningVersion(id, signing_version);
        const detail = { signing_version };
        await tx.audit({ at, actor, action: 'key.rotate_signing', ...auditSubject(key), detail });
        return signing_version;
      }),

    /**
     * Signs a url of a helper (whole, or from its path on) for a key until `exp`, whole seconds since 1970, at most 366 days
     * ahead. It is not noted, since a program with the secret signs without the gateway. A url that cannot be signed is
     * `invalid_input`, and so is a key that is dead or may not call `service`.
     */
    async signUrl(
      id: string,
      { url, service, exp }: { url: string; service: string; exp: number },
    ): Promise<string> {
      signing.requireMaster();
      const key = await findKey(store, id);
      requireLiveKey(key, now());
      const tooLong = endProblem(exp, now());
      if (tooLong !== undefined) throw inputError([{ field: 'expires_at', problem: tooLong }]);
      if (!scopeAllows(key.scopes, service)) {
        const problem = `names ${service}, which ${id} may not call; it may call ${key.scopes?.join(', ')}`;
        throw inputError([{ field: 'url', problem }]);
      }
      return signUrl({ url, kid: id, secret: signing.current(id, key.signing_version), exp });
    },
  };
}
