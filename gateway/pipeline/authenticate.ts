import { parseUrlencoded, type QueryText } from '../../schemas/input/urlencoded.js';
import { after } from '../after.js';
import { GatewayError, inputError } from '../errors.js';
import { bearerToken } from '../http/bearer.js';
import type { KeyVerifier } from '../keys/verifier.js';
import { missingKeyMessage } from './missing-key.js';
import type { HttpCall, Stage } from './stage.js';
import type { Caller } from './state.js';

const refusals = {
  malformed: 'key_invalid',
  unknown: 'key_invalid',
  expired: 'key_expired',
  revoked: 'key_revoked',
} as const;

/** Finds whose call it is by its key: `ak` in the query, else `Authorization: Bearer`. Hands on the query without it. */
export function authenticate(
  keys: Pick<KeyVerifier, 'verify'>,
): Stage<HttpCall, { caller: Caller; query: QueryText }> {
  return function authenticate({ ctx, state }, next) {
    const query = parseUrlencoded(ctx.querystring);
    const problem = query.problems.find(({ field }) => field === 'ak');
    if (problem) throw inputError([problem]);
    const key = query.values.get('ak') || bearerToken(ctx.get('authorization'));
    if (!key) {
      throw new GatewayError('key_missing', { message: missingKeyMessage(ctx.headers, query.values) });
    }
    // From here on nothing needs it: not the plugin, not a message that lists what was sent.
    query.values.delete('ak');

    return after(keys.verify(key), (verdict) => {
      if (verdict.state !== 'active') throw new GatewayError(refusals[verdict.state]);
      const { tenant, key: found } = verdict;
      const caller = { tenant, keyId: found.id, scopes: found.scopes };
      state.caller = caller;
      return next({ caller, query });
    });
  };
}
