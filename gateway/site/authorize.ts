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

/**
 * Lets requests with the operator token pass, in constant time. Wrong tokens are slowed down by address; right ones
 * never: programs share a proxy's. No cookie counts, as a browser adds it by itself and this API has no form tokens.
 */
export function requireOperatorToken(token: string | undefined): Authorize {
  const right = digest(token ?? '');
  // Wrong tokens of one address in ten minutes.
  const wrong = createAttemptBudget(30, 600);
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
