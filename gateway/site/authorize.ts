import { createHash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../errors.js';
import { bearerToken } from '../http/request.js';
import { createAttemptBudget, networkOf } from './accounts/throttle.js';

const guessedTooOften = 'Too many wrong operator tokens came from this address; wait before the next one.';

/** A stage of any server with operations for the operator. */
type Authorize = (
  ctx: { get(name: string): string; ip: string },
  next: () => Promise<unknown>,
) => Promise<void>;

/** Wrong tokens of one address in ten minutes. */
const wrongTokens = { tries: 30, seconds: 600 };

/**
 * Lets requests with the operator token pass, in a time that reveals nothing of it. Wrong tokens are slowed down by address, and
 * right ones never: the programs behind one proxy share its address. Where none is set, none passes. A session's cookie does
 * not count: what a browser adds by itself must not reach an API without form tokens.
 */
export function requireOperatorToken(token: string | undefined): Authorize {
  const right = digest(token ?? '');
  const wrong = createAttemptBudget(wrongTokens.tries, wrongTokens.seconds);
  return async function requireOperatorToken(ctx, next) {
    const given = bearerToken(ctx.get('authorization'));
    // Digests have one length, so that comparing them does not even reveal how long the token is.
    const same = timingSafeEqual(digest(given ?? ''), right);
    if (!token || !given || !same) {
      const wait = token && given ? await wrong.consume(networkOf(ctx.ip)) : 0;
      if (wait > 0) throw new GatewayError('rate_limited', { message: guessedTooOften, retryAfter: wait });
      throw new GatewayError('unauthorized', {
        message: token
          ? 'Send the operator token as Authorization: Bearer.'
          : 'This API is closed, as no operator token is set: set HELPER_OPERATOR_TOKEN.',
      });
    }
    await next();
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
