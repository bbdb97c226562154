import { parseTime } from '../../schemas/keywords/future.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError, inputError, requireValid } from '../errors.js';
import { endProblem, signUrl } from '../signing/signed-url.js';
import { type SigningSecrets, signingSecretPrefix } from '../signing/signing-secrets.js';
import type { AuditEntry } from './audit-text.js';
import type { IssueOptions, KeyChanges, KeyInputs, RotateOptions, Unchecked } from './inputs.js';
import {
  createKey,
  differences,
  digestOf,
  isCurrent,
  iso,
  isoOrNull,
  type Key,
  type KeyView,
  type KeyWithSecrets,
  keyState,
  newKey,
  parseKey,
  randomBase62,
  recipeOf,
  type Secret,
  scopeAllows,
  secretEnded,
  viewKey,
} from './model.js';
import { isKeyId } from './schemas.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { findTenant } from './tenant-changes.js';

/** A key in a transaction that changes it. */
interface KeyChange {
  tx: KeyTransaction;
  key: KeyWithSecrets;
  at: number;
  note: (action: AuditEntry['action'], detail?: AuditEntry['detail']) => Promise<void>;
}

/** A key that has ended is `invalid_input` for rotation and signing; without a master secret signing rejects. */
export function createKeyChanges(
  store: KeyStore,
  inputs: KeyInputs,
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
      const signing_secret = signing.available ? signing.current(id, newKey.signing_version) : null;
      return { id, key, tenant, label, scopes, expires_at: isoOrNull(expires_at), signing_secret };
    },

    /** Adds a secret, which the answer has this once; those in an earlier grace keep their own ends. */
    async rotateKey(id: string, options: RotateOptions, actor: string) {
      const { grace_seconds: grace } = requireValid(inputs.rotation.check(options));
      const secret = createKey();
      const end = await changeKey(id, actor, async ({ tx, key, at, note }) => {
        requireLiveKey(key, at);
        const end = Math.min(at + grace * 1000, key.expires_at ?? Number.POSITIVE_INFINITY);
        // With no grace the leak may be older than the last rotation: all of them end.
        const ends = (older: Secret) => (grace === 0 ? !secretEnded(older, at) : isCurrent(older));
        const ended = key.secrets.filter(ends);
        const ended_at = grace === 0 ? at : null;
        for (const older of ended)
          await tx.endSecret({ ...older, expires_at: older.expires_at ?? end, ended_at });
        const secret_id = await addSecret(tx, id, secret, at);
        await note('key.rotate', { grace_seconds: grace, secret_id, ended: ended.map((each) => each.id) });
        return end;
      });
      return { id, key: secret, previous_expires_at: iso(end) };
    },

    /** Ends every secret but the current one. */
    endGrace: (id: string, actor: string): Promise<KeyView> =>
      changeKey(id, actor, async ({ tx, key, at, note }) => {
        const ended = key.secrets.filter((secret) => !isCurrent(secret) && !secretEnded(secret, at));
        if (ended.length === 0) return viewKey(key, at);
        for (const secret of ended) await tx.endSecret({ ...secret, ended_at: at });
        await note('key.end_grace', { ended: ended.map((secret) => secret.id) });
        return viewKey(await findKey(tx, id), at);
      }),

    /** Only what differs is changed, and noted. A revoked key is `conflict`. */
    async editKey(id: string, changes: Unchecked<KeyChanges>, actor: string): Promise<KeyView> {
      const given = requireValid(inputs.keyChanges.check(changes));
      return changeKey(id, actor, async ({ tx, key, at, note }) => {
        if (key.revoked_at !== null) {
          const message = `The key ${id} was revoked at ${iso(key.revoked_at)} and cannot be changed any more; issue a new one.`;
          throw new GatewayError('conflict', { message });
        }
        const { state, label = key.label, scopes, expires_at, ...limits } = given;
        const edited = {
          label,
          scopes: scopes ? [...new Set(scopes)] : scopes === null ? null : key.scopes,
          expires_at: expires_at === undefined ? key.expires_at : (parseTime(expires_at ?? '') ?? null),
          ...key.limits,
          ...limits,
        };
        const before = { ...key.limits, label: key.label, scopes: key.scopes, expires_at: key.expires_at };
        const detail = differences(before, edited);
        if (Object.keys(detail).length > 0) {
          await tx.updateKey(id, { ...edited, scopes: edited.scopes && JSON.stringify(edited.scopes) });
          await note('key.edit', detail);
        }
        if (state === 'paused' && key.paused_at === null) {
          await tx.updateKey(id, { paused_at: at });
          await note('key.pause');
        }
        if (state === 'active' && key.paused_at !== null) {
          await tx.updateKey(id, { paused_at: null });
          await note('key.resume');
        }
        return viewKey(await findKey(tx, id), at);
      });
    },

    /** For good; a second time changes nothing. */
    revokeKey: (id: string, actor: string): Promise<KeyView> =>
      changeKey(id, actor, async ({ tx, key, at, note }) => {
        if (key.revoked_at !== null) return viewKey(key, at);
        await tx.updateKey(id, { revoked_at: at });
        await note('key.revoke');
        return viewKey({ ...key, revoked_at: at }, at);
      }),

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
        await tx.updateKey(id, { signing_version });
        await note('key.rotate_signing', { signing_version });
        return signing_version;
      }),

    /** Signs a helper's url for a key until `exp` (seconds). Not audited: a program with the secret signs by itself. */
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
      const recipe = recipeOf(service);
      if (recipe !== undefined && !(await store.recipe(key.tenant_id, recipe))) {
        const problem = `names the recipe ${recipe}, which the key's tenant does not have`;
        throw inputError([{ field: 'url', problem }]);
      }
      return signUrl({ url, kid: id, secret: signing.current(id, key.signing_version), exp });
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
  await tx.addKey({ ...given, id, created_at: at, ...newKey });
  await addSecret(tx, id, secret, at);
  const { tenant_id, expires_at, ...named } = given;
  const detail = { ...named, expires_at: isoOrNull(expires_at) };
  await tx.audit({ at, actor, action: 'key.issue', tenant_id, key_id: id, detail });
  return id;
}

async function addSecret(tx: KeyTransaction, key_id: string, text: string, at: number): Promise<string> {
  const id = `sec_${randomBase62(12)}`;
  await tx.addSecret({ id, key_id, ...digestOf(text), created_at: at, expires_at: null, ended_at: null });
  return id;
}

/** The key with this id; rejects with `not_found` where there is none. */
export async function findKey(reads: Pick<KeyTransaction, 'key'>, id: string): Promise<KeyWithSecrets> {
  const key = isKeyId(id) ? await reads.key(id) : undefined;
  if (key) return key;
  const message = secretHint(id) ?? `There is no key with the id ${quote(id)}.`;
  throw new GatewayError('not_found', { message });
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
  if (state === 'active' || state === 'paused') return;
  const [what, at] = state === 'revoked' ? ['was revoked', key.revoked_at] : ['expired', key.expires_at];
  const problem = `names a key that ${what} at ${isoOrNull(at)}; issue a new one`;
  throw inputError([{ field: 'id', problem }]);
}
