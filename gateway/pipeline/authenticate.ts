import { parseUrlencoded } from '../../schemas/input/urlencoded.js';
import { GatewayError } from '../errors.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { Stage } from './state.js';

const refusals = {
  malformed: 'key_invalid',
  unknown: 'key_invalid',
  expired: 'key_expired',
  revoked: 'key_revoked',
} as const;

const bearer = /^Bearer +([^\s]+)$/i;

/** Finds the call's tenant by its key: `ak` in the query, else `Authorization: Bearer`. */
export function authenticate(keys: Pick<KeyVerifier, 'verify'>): Stage {
  return async function authenticate(ctx, next) {
    const query = parseUrlencoded(ctx.querystring);
    const problem = query.problems.find(({ field }) => field === 'ak');
    if (problem) throw new GatewayError('invalid_input', { details: [problem] });
    const key = query.values.get('ak') || bearer.exec(ctx.get('authorization'))?.[1];
    if (!key) throw new GatewayError('key_missing');
    // From here on nothing needs it: not the plugin, not a message that lists what was sent.
    query.values.delete('ak');

    const verdict = await keys.verify(key);
    if (verdict.state !== 'active') throw new GatewayError(refusals[verdict.state]);
    ctx.state.query = query;
    ctx.state.tenant = verdict.tenant;
    ctx.state.keyId = verdict.key.id;
    ctx.state.scopes = verdict.key.scopes;
    await next();
  };
}
