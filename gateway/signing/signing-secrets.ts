import { hkdfSync } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.js';

/** The secrets that urls are signed with, one for each key and its version. */
export interface SigningSecrets {
  /** Whether there is a master secret to derive them from. */
  readonly available: boolean;
  /** Throws a `GatewayError` that names HELPER_SIGNING_SECRET where there is none. */
  requireMaster(): void;
  /** The one to sign with: `hgs_` and 43 characters. Throws as `requireMaster` does. */
  current(keyId: string, version: number): string;
  /** All to verify with, one for each master secret; throws likewise. */
  all(keyId: string, version: number): readonly string[];
}

/** What tells them from keys. */
export const signingSecretPrefix = 'hgs_';

const kept = 10_000;

/**
 * Derives signing secrets from the gateway's master secrets, which no database holds: HKDF-SHA256 (RFC 5869) with the key's id and its
 * version as info. Of `masters` the first signs, all verify; undefined where this gateway has none.
 */
export function createSigningSecrets(masters: readonly string[] | undefined): SigningSecrets {
  const derived = new LRUCache<string, readonly string[]>({ max: kept });

  function requireMaster(): readonly string[] {
    if (masters === undefined) throw new GatewayError('keys_unavailable', { message: noMaster });
    return masters;
  }

  function all(keyId: string, version: number): readonly string[] {
    const masters = requireMaster();
    const info = `helper-gateway signing ${version} ${keyId}`;
    const known = derived.get(info);
    if (known) return known;
    const secrets = masters.map((master) => derive(master, info));
    derived.set(info, secrets);
    return secrets;
  }

  return {
    available: masters !== undefined,
    requireMaster,
    all,
    current: (keyId, version) => all(keyId, version)[0] as string,
  };
}

const noMaster =
  'This gateway cannot sign urls or verify them: with DATABASE_URL, set HELPER_SIGNING_SECRET to the same on all gateways.';

function derive(master: string, info: string): string {
  return `${signingSecretPrefix}${Buffer.from(hkdfSync('sha256', master, '', info, 32)).toString('base64url')}`;
}
