import { inputError } from '../errors.js';
import { endProblem, signUrl } from '../signing/sign-url.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import { findKey, refuseDead, subject } from './key-changes.js';
import { scopeAllows } from './scopes.js';
import type { KeyStore } from './store.js';

export interface SigningSecret {
  /** The key's id, which stands in the urls as `kid`. */
  id: string;
  signing_secret: string;
}

/** What rejects where the gateway has no master secret is `storage_unavailable`, and names HELPER_SIGNING_SECRET. */
export interface SigningChanges {
  /** Shows what signs urls for a key, which is noted. An expired or revoked key is `invalid_input`. */
  signingSecret(id: string, actor: string): Promise<SigningSecret>;
  /** Gives it another; what was signed before opens nothing any more. The key itself stays. */
  rotateSigning(id: string, actor: string): Promise<SigningSecret>;
  /**
   * Signs a url of a helper (whole, or from its path on) for a key until `exp`, whole seconds since 1970, at most 366 days on. Nothing is noted, for whoever
   * has the secret signs without the gateway. A url that cannot be signed is `invalid_input`, and so is a key that is dead or may not
   * call `service`.
   */
  signUrl(id: string, call: { url: string; service: string; exp: number }): Promise<string>;
}

export function createSigningChanges(
  store: KeyStore,
  signing: SigningSecrets,
  now: () => number,
): SigningChanges {
  return {
    async signingSecret(id, actor) {
      signing.requireMaster();
      const version = await store.change(async (tx) => {
        const key = await findKey(tx, id);
        const at = now();
        refuseDead(key, at);
        await tx.audit({ at, actor, action: 'key.signing_secret', ...subject(key), detail: {} });
        return key.signing_version;
      });
      return { id, signing_secret: signing.current(id, version) };
    },

    async rotateSigning(id, actor) {
      signing.requireMaster();
      const version = await store.change(async (tx) => {
        const key = await findKey(tx, id);
        const at = now();
        refuseDead(key, at);
        const signing_version = key.signing_version + 1;
        await tx.setSigningVersion(id, signing_version);
        const detail = { signing_version };
        await tx.audit({ at, actor, action: 'key.rotate_signing', ...subject(key), detail });
        return signing_version;
      });
      return { id, signing_secret: signing.current(id, version) };
    },

    async signUrl(id, { url, service, exp }) {
      signing.requireMaster();
      const key = await findKey(store, id);
      refuseDead(key, now());
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
