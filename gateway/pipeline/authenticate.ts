import { parseUrlencoded, type QueryText } from '../../schemas/input/urlencoded.js';
import { after } from '../after.js';
import { GatewayError, inputError } from '../errors.js';
import { bearerToken } from '../http/bearer.js';
import type { KeyVerdict, KeyVerifier } from '../keys/verifier.js';
import { hasSignature, isHalfSigned } from '../signing/signed-query.js';
import type { AuthenticateSigned } from './authenticate-signed.js';
import { callerOf } from './caller-of.js';
import { missingKeyMessage } from './missing-key.js';
import type { HttpCall, Stage } from './stage.js';
import type { CallContext, Caller } from './state.js';

/**
 * Finds whose call it is by its key: `ak` in the query, else `Authorization: Bearer`; by its signature where signed urls are taken.
 * Hands on the query without either.
 */
export function authenticate(
  keys: Pick<KeyVerifier, 'verify'>,
  authenticateSigned?: AuthenticateSigned,
): Stage<HttpCall, { caller: Caller; query: QueryText }> {
  return function authenticate({ ctx, state }, next) {
    const query = parseUrlencoded(ctx.querystring);
    const enter = (verdict: KeyVerdict, signedUntil?: number) => {
      const caller = callerOf(verdict);
      if (signedUntil !== undefined) caller.signedUntil = signedUntil;
      state.caller = caller;
      return next({ caller, query });
    };

    if (authenticateSigned && hasSignature(query))
      return after(authenticateSigned(ctx, query), ({ verdict, signedUntil }) => enter(verdict, signedUntil));
    const key = keyOf(ctx, query);
    if (!key) {
      if (authenticateSigned && isHalfSigned(query)) throw new GatewayError('signature_invalid');
      throw new GatewayError('key_missing', { message: missingKeyMessage(ctx.headers, query.values) });
    }
    // From here on nothing needs it: not the plugin, not a message that lists what was sent.
    query.values.delete('ak');
    return after(keys.verify(key), enter);
  };
}

/** Who sent a request that needs no key; undefined where it brings none, or one that may not call anything. */
export async function callerIfAny(
  ctx: CallContext,
  keys: Pick<KeyVerifier, 'verify'>,
): Promise<Caller | undefined> {
  try {
    const key = keyOf(ctx, parseUrlencoded(ctx.querystring));
    return key === undefined ? undefined : callerOf(await keys.verify(key));
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function keyOf(ctx: CallContext, { values, problems }: QueryText): string | undefined {
  const problem = problems.find(({ field }) => field === 'ak');
  if (problem) throw inputError([problem]);
  return values.get('ak') || bearerToken(ctx.get('authorization')) || undefined;
}
