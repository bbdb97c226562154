import { GatewayError } from '../errors.js';
import type { KeyVerdict } from '../keys/verifier.js';
import type { Caller } from './state.js';

const refusals = {
  malformed: 'key_invalid',
  unknown: 'key_invalid',
  expired: 'key_expired',
  revoked: 'key_revoked',
} as const;

/** Whose call it is by this key; throws where nobody may call by it. */
export function callerOf(verdict: KeyVerdict): Caller {
  if (verdict.state !== 'active') throw new GatewayError(refusals[verdict.state]);
  const { tenant, key } = verdict;
  return { tenant, keyId: key.id, scopes: key.scopes };
}
