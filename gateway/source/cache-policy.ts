import CachePolicy from 'http-cache-semantics';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { type CacheHeaders, type Moments, readAnswerHeaders, readCacheHeaders } from './cache-headers.js';
import { ownHeaders } from './own-headers.js';

/** The headers by which a server is asked whether what it sent still holds. */
export type Validators = Partial<Record<'if-none-match' | 'if-modified-since', string>>;

/** A request, in what its answer may depend on. */
export interface Asked {
  url: URL;
  accept: string;
}

/** What HTTP permits of one answer. */
export interface Policy {
  /** What the answer said, and later ones to the question whether it still holds. */
  readonly said: CacheHeaders;
  /** Whether it may serve the same request now, without a word to its server. */
  isFresh(): boolean;
  /** What to ask its server with; undefined where it gave nothing to ask with. */
  validators(): Validators | undefined;
  /**
   * What is permitted once the server has answered 304 with these headers; undefined where they speak of another answer than
   * this one. `keep` is false where this answer may be used, but not kept.
   */
  renewed(headers: IncomingHttpHeaders, moments: Moments): { keep: boolean; policy: Policy } | undefined;
}

/** Judges an answer with status 200: undefined where it may not be kept, or where nothing would come of that. */
export type JudgePolicy = (
  asked: Asked,
  headers: IncomingHttpHeaders,
  moments: Moments,
) => Policy | undefined;

/**
 * The rules of RFC 9111 by `http-cache-semantics`, as a shared cache. Nothing is guessed from the date of the last change, and
 * nothing is served stale, whatever an answer permits. `now` is in milliseconds since 1970.
 */
export function createJudgePolicy(now: () => number): JudgePolicy {
  class PolicyNow extends CachePolicy {
    now(): number {
      return now();
    }
  }
  const options = { shared: true, cacheHeuristic: 0, immutableMinTimeToLive: 0 };

  function permitted(asked: Asked, said: CacheHeaders, received: IncomingHttpHeaders, moments: Moments) {
    const request = requestOf(asked);
    const headers = { ...said, ...readAnswerHeaders(received, moments) };
    const rules = new PolicyNow(request, { status: 200, headers }, options);
    const validators = (): Validators | undefined => {
      const { 'if-none-match': tag, 'if-modified-since': since } = rules.revalidationHeaders(request);
      const found: Validators = {
        ...(typeof tag === 'string' ? { 'if-none-match': tag } : {}),
        ...(typeof since === 'string' ? { 'if-modified-since': since } : {}),
      };
      return Object.keys(found).length > 0 ? found : undefined;
    };
    // Asked of the library once: it makes the headers of an answer each time, which costs many times as much as to look at a clock.
    const from = now();
    const until = rules.satisfiesWithoutRevalidation(request) ? from + rules.timeToLive() : from;
    const isFresh = () => {
      const at = now();
      // A clock that was set back lets nothing live longer.
      return at >= from && at < until;
    };
    const policy: Policy = {
      said,
      isFresh,
      validators,
      renewed(received, moments) {
        const anew = readCacheHeaders(received);
        const answer = { status: 304, headers: { ...said, ...anew } };
        if (!rules.revalidatedPolicy(request, answer).matches) return undefined;
        // The library takes only fields that were there before, and would overhear a new `no-store` (RFC 9111, 3.2). The type is that
        // of the bytes, whatever a 304 says.
        const { 'content-type': _, ...update } = anew;
        return permitted(asked, { ...said, ...update }, received, moments);
      },
    };
    const keep = rules.storable() && said.vary !== '*' && (isFresh() || validators() !== undefined);
    return { keep, policy };
  }

  return function judgePolicy(asked, headers, moments) {
    // What ends with its connection may have been cut off, which is no matter for one call.
    const isWhole = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    const { keep, policy } = permitted(asked, readCacheHeaders(headers), headers, moments);
    return isWhole && keep ? policy : undefined;
  };
}

function requestOf({ url, accept }: Asked): CachePolicy.HttpRequest {
  return { url: url.href, method: 'GET', headers: { ...ownHeaders, accept, host: url.host } };
}
