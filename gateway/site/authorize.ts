import { createHash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../errors.js';
import { bearerToken } from '../http/request.js';
import { createAttemptBudget, networkOf } from './accounts/throttle.js';
import type { Program, Tokens } from './accounts/tokens.js';

const guessedTooOften = 'Too many wrong tokens came from this address; wait before the next one.';

/** Finds the program of a request on any server with operations for operators; rejects where it has no right token. */
type Authorize = (ctx: { get(name: string): string; ip: string }) => Promise<Program>;

/**
 * By HELPER_OPERATOR_TOKEN, in constant time, or a token of the site. Wrong tokens are slowed down by address; right ones
 * never: programs share a proxy's. No cookie counts, as a browser adds it by itself and this API has no form tokens.
 */
export function requireOperatorToken(token: string | undefined, tokens: Pick<Tokens, 'find'>): Authorize {
  const right = digest(token ?? '');
  // Wrong tokens of one address in ten minutes.
  const wrong = createAttemptBudget(30, 600);
  return async function requireOperatorToken(ctx) {
    const given = bearerToken(ctx.get('authorization')) ?? '';
    // Digests have one length, so that comparing them does not even reveal how long the token is.
    const same = timingSafeEqual(digest(given), right);
    if (token && given && same) return { actor: 'api:operator-token', role: 'operator' };
    const program = await tokens.find(given);
    if (program) return program;
    const wait = given ? await wrong.consume(networkOf(ctx.ip)) : 0;
    if (wait > 0) throw new GatewayError('rate_limited', { message: guessedTooOften, retryAfter: wait });
    const closed = 'Make an API token on the site, or set HELPER_OPERATOR_TOKEN, and send it';
    throw new GatewayError('unauthorized', {
      message: `${token ? 'Send the operator token or an API token' : closed} as Authorization: Bearer.`,
    });
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
