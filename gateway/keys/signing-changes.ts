import type { SigningSecrets } from '../signing/signing-secrets.js';
import { findKey, refuseDead, subject } from './key-changes.js';
import type { KeyStore } from './store.js';

export interface SigningSecret {
  /** The key's id, which stands in the urls as `kid`. */
  id: string;
  signing_secret: string;
}

/** What rejects where the gateway has no master secret is `keys_unavailable`, and names HELPER_SIGNING_SECRET. */
export interface SigningChanges {
  /** Shows what signs urls for a key, which is noted. An expired or revoked key is `invalid_input`. */
  signingSecret(id: string, actor: string): Promise<SigningSecret>;
  /** Gives it another; what was signed before opens nothing any more. The key itself stays. */
  rotateSigning(id: string, actor: string): Promise<SigningSecret>;
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
  };
}
