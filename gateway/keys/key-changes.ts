import { parseTime } from '../../schemas/keywords/future.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError, inputError, requireValid } from '../errors.js';
import { endProblem, signUrl } from '../signing/signed-url.js';
import { type SigningSecrets, signingSecretPrefix } from '../signing/signing-secrets.js';
import type { IssueOptions, KeyInputs, RotateOptions } from './inputs.js';
import {
  type AuditEntry,
  createKey,
  digestOf,
  isCurrent,
  iso,
  isoOrNull,
  type Key,
  type KeyView,
  type KeyWithSecrets,
  keyState,
  parseKey,
  randomBase62,
  type Secret,
  scopeAllows,
  secretEnded,
  viewKey,
} from './model.js';
import { isKeyId } from './schemas.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { addTenant, findTenant } from './tenant-changes.js';

/** Of a new key's signing secret. */
const firstSigningVersion = 1;

/** A key in a transaction that changes it. */
interface KeyChange {
  tx: KeyTransaction;
  key: KeyWithSecrets;
  at: number;
  note: (action: AuditEntry['action'], detail?: AuditEntry['detail']) => Promise<void>;
}

/**
 * What is done with keys. A key that is revoked or has expired is `invalid_input` for rotation and signing. Without a master secret,
 * what concerns signing rejects with `storage_unavailable`, which names HELPER_SIGNING_SECRET.
 */
export function createKeyChanges(
  store: KeyStore,
  inputs: Pick<KeyInputs, 'key' | 'rotation'>,
  signing: SigningSecrets,
  now: () => number,
) {
  function changeKey<T>(id: string, actor: string, change: (of: KeyChange) => Promise<T>): Promise<T> {
    return store.change(async (tx) => {
      const key = await findKey(tx, id);
      const at = now();
      const note: KeyChange['note'] = (action, detail = {}) =>
        tx.audit({ at, actor, action, tenant_id: key.tenant_id, key_id: key.id, detail });
      return change({ tx, key, at, note });
    });
  }

  /** The signing secret of a version that `change` returns, for a key that works. */
  async function signingSecret(id: string, actor: string, change: (of: KeyChange) => Promise<number>) {
    signing.requireMaster();
    const version = await changeKey(id, actor, (of) => {
      requireLiveKey(of.key, of.at);
      return change(of);
    });
    return { id, signing_secret: signing.current(id, version) };
  }

  return {
    /** The answer has the key, this once, and what signs urls for it: null where this gateway has no master secret. */
    async issueKey(tenant: string, options: IssueOptions, actor: string) {
      const given = requireValid(inputs.key.check(options));
      const label = given.label ?? null;
      const scopes = given.scopes ? [...new Set(given.scopes)] : null;
      const expires_at = parseTime(given.expires_at ?? '') ?? null;
      const key = createKey();
      const id = await store.change(async (tx) => {
        const { id: tenant_id } = await findTenant(tx, tenant);
        return addKey(tx, { tenant_id, label, scopes, expires_at }, key, actor, now());
      });
      const signing_secret = signing.available ? signing.current(id, firstSigningVersion) : null;
      return { id, key, tenant, label, scopes, expires_at: isoOrNull(expires_at), signing_secret };
    },

    /** Adds a secret, which the answer has this once; those in an earlier grace keep their own ends. */
    async rotateKey(id: string, options: RotateOptions, actor: string) {
      const { grace_seconds: grace } = requireValid(inputs.rotation.check(options));
      const secret = createKey();
      const end = await changeKey(id, actor, async ({ tx, key, at, note }) => {
        requireLiveKey(key, at);
        const end = Math.min(at + grace * 1000, key.expires_at ?? Number.POSITIVE_INFINITY);
        const ended = await endOlder(tx, key, grace, at, end);
        const secret_id = await addSecret(tx, id, secret, at);
        await note('key.rotate', { grace_seconds: grace, secret_id, ended });
        return end;
      });
      return { id, key: secret, previous_expires_at: iso(end) };
    },

    /** Ends every secret but the current one. */
    async endGrace(id: string, actor: string): Promise<KeyView> {
      const key = await changeKey(id, actor, async ({ tx, key, at, note }) => {
        const ended = key.secrets.filter((secret) => !isCurrent(secret) && !secretEnded(secret, at));
        for (const secret of ended) await tx.endSecret({ ...secret, ended_at: at });
        if (ended.length === 0) return key;
        await note('key.end_grace', { ended: ended.map((secret) => secret.id) });
        return findKey(tx, id);
      });
      return viewKey(key, now());
    },

    /** For good; a second time changes nothing. */
    async revokeKey(id: string, actor: string): Promise<KeyView> {
      const key = await changeKey(id, actor, async ({ tx, key, at, note }) => {
        if (key.revoked_at !== null) return key;
        await tx.revokeKey(id, at);
        await note('key.revoke');
        return { ...key, revoked_at: at };
      });
      return viewKey(key, now());
    },

    /** Shows what signs urls for a key, which is noted. */
    signingSecret: (id: string, actor: string) =>
      signingSecret(id, actor, async ({ key, note }) => {
        await note('key.signing_secret');
        return key.signing_version;
      }),

    /** Replaces it; urls that were signed before open nothing any more. The key itself stays. */
    rotateSigning: (id: string, actor: string) =>
      signingSecret(id, actor, async ({ tx, key, note }) => {
        const signing_version = key.signing_version + 1;
        await tx.setSigningVersion(id, signing_version);
        await note('key.rotate_signing', { signing_version });
        return signing_version;
      }),

    /**
     * Signs a url of a helper (whole, or from its path on) for a key until `exp`, whole seconds since 1970, at most 366 days
     * ahead. It is not noted, since a program with the secret signs without the gateway. A url that cannot be signed is
     * `invalid_input`, and so is a key that may not call `service`.
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
