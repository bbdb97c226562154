import type { QueryText } from '../../schemas/input/urlencoded.js';
import { signatureParameters } from '../../schemas/parameters/gateway-parameters.js';
import { after, type Now } from '../after.js';
import { GatewayError, inputError } from '../errors.js';
import { bearerToken } from '../http/bearer.js';
import type { KeyVerdict, KeyVerifier } from '../keys/verifier.js';
import { isSignedBy, signedText } from '../signing/signature.js';
import { readSigned } from '../signing/signed-query.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import type { CallContext } from './state.js';

/** Whom a signed url is of, and until when: its own end or its key's, in seconds since 1970. */
export interface SignedVerdict {
  verdict: KeyVerdict;
  signedUntil: number;
}

export type AuthenticateSigned = (ctx: CallContext, query: QueryText) => Now<SignedVerdict>;

/**
 * Finds whose call a signed url is. Whatever is wrong with it, one answer tells it, at the cost of a signature; only of a right one
 * more is said. Takes the signature's parameters out of the query.
 */
export function authenticateSigned(
  keys: Pick<KeyVerifier, 'verifySigned'>,
  signing: SigningSecrets,
  now: () => number = Date.now,
): AuthenticateSigned {
  return function authenticateSigned(ctx, query) {
    refuseOthers(ctx, query);
    const signed = readSigned(query);
    if (!signed) throw new GatewayError('signature_invalid');
    // Before anything is looked up: else it would tell keys that are from keys that are not.
    signing.requireMaster();
    const { kid, exp, sig } = signed;
    const text = signedText({ path: ctx.path, values: query.values });
    const isSigned = (version: number) => {
      if (!isSignedBy(signing.all(kid, version), text, sig)) return false;
      if (exp * 1000 <= now()) throw new GatewayError('signature_expired');
      return true;
    };
    return after(keys.verifySigned(kid, isSigned), (verdict) => {
      if (verdict.state === 'unknown' || verdict.state === 'malformed')
        throw new GatewayError('signature_invalid');
      for (const name of signatureParameters) query.values.delete(name);
      const until = verdict.state === 'active' ? verdict.until : undefined;
      return { verdict, signedUntil: until === undefined ? exp : Math.min(exp, until / 1000) };
    });
  };
}

/** What a signed url is not: a way to send more than its parameters, or one of two ways to say who calls. */
function refuseOthers(ctx: CallContext, { values }: QueryText): void {
  if (ctx.state.helper?.declaration.effects) {
    const problem =
      'must not be sent: a signed url is for GET and HEAD, and this helper takes POST alone; send a key';
    throw inputError([{ field: 'sig', problem }]);
  }
  if (ctx.method === 'POST') {
    const message = 'A signed url is for GET and HEAD. Send a key with POST, and leave out sig.';
    throw new GatewayError('method_not_allowed', { message, headers: { allow: 'GET, HEAD' } });
  }
  if (values.has('ak'))
    throw inputError([{ field: 'ak', problem: 'must not stand beside sig: send a key or a signature' }]);
  if (bearerToken(ctx.get('authorization')) !== undefined)
    throw inputError([
      { field: 'sig', problem: 'must not stand beside a key in Authorization: send a key or a signature' },
    ]);
}
