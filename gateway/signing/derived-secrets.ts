import { hkdfSync } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.js';

/** Secrets of one kind that follow from the gateway's master secrets, one for each owner and its version. */
export interface DerivedSecrets {
  /** Whether there is a master secret to derive them from. */
  readonly available: boolean;
  /** Throws a `GatewayError` that names HELPER_SIGNING_SECRET where there is none. */
  requireMaster(): void;
  /** The one to sign with. Throws as `requireMaster` does. */
  current(ownerId: string, version: number): string;
  /** One for each master secret, that of the first at the head; throws likewise. */
  all(ownerId: string, version: number): readonly string[];
}

export interface DerivedKind {
  /** Tells this kind from all others, in the derivation. */
  purpose: string;
  /** The secret as people see it. */
  write: (bytes: Buffer) => string;
  /** What a gateway without a master secret cannot do. */
  without: string;
}

const kept = 10_000;

/**
 * Derives secrets from master secrets, which no database holds: HKDF-SHA256 (RFC 5869) with the purpose, the version and the owner's
 * id as info. `masters` is undefined where this gateway has none.
 */
export function createDerivedSecrets(
  masters: readonly string[] | undefined,
  { purpose, write, without }: DerivedKind,
): DerivedSecrets {
  const derived = new LRUCache<string, readonly string[]>({ max: kept });

  function requireMaster(): readonly string[] {
    if (masters !== undefined) return masters;
    const remedy = 'with DATABASE_URL, set HELPER_SIGNING_SECRET to the same on all gateways.';
    throw new GatewayError('storage_unavailable', { message: `This gateway cannot ${without}: ${remedy}` });
  }

  function all(ownerId: string, version: number): readonly string[] {
    const masters = requireMaster();
    const info = `helper-gateway ${purpose} ${version} ${ownerId}`;
    const known = derived.get(info);
    if (known) return known;
    const secrets = masters.map((master) => write(Buffer.from(hkdfSync('sha256', master, '', info, 32))));
    derived.set(info, secrets);
    return secrets;
  }

  return {
    available: masters !== undefined,
    requireMaster,
    all,
    current: (ownerId, version) => all(ownerId, version)[0] as string,
  };
}
