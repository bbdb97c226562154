import CachePolicy from 'http-cache-semantics';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { ownHeaders } from './connection.js';

/** The headers by which a server is asked whether what it sent still holds. */
export type Validators = Partial<Record<'if-none-match' | 'if-modified-since', string>>;

/** A request, in what its answer may depend on. */
interface CacheableRequest {
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
type ReadPolicy = (
  asked: CacheableRequest,
  headers: IncomingHttpHeaders,
  moments: Moments,
) => Policy | undefined;

/**
 * The rules of RFC 9111 by `http-cache-semantics`, as a shared cache. Nothing is guessed from the date of the last change, and
 * nothing is served stale, whatever an answer permits. `now` is in milliseconds since 1970.
 */
export function createPolicyReader(now: () => number): ReadPolicy {
  class PolicyNow extends CachePolicy {
    now(): number {
      return now();
    }
  }
  const options = { shared: true, cacheHeuristic: 0, immutableMinTimeToLive: 0 };

  function permitted(
    asked: CacheableRequest,
    said: CacheHeaders,
    received: IncomingHttpHeaders,
    moments: Moments,
  ) {
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

function requestOf({ url, accept }: CacheableRequest): CachePolicy.HttpRequest {
  return { url: url.href, method: 'GET', headers: { ...ownHeaders, accept, host: url.host } };
}

/**
 * What an answer says of keeping it, in words that cannot be misread: a field is there once, in the one form that the RFC gives
 * it, or not at all. The library that judges it takes `No-Store` for no directive, adds up a negative `Age`, and reads a year in `Expires: 9999`.
 */
interface CacheHeaders {
  'cache-control'?: string;
  expires?: string;
  etag?: string;
  'last-modified'?: string;
  vary?: string;
  'content-type'?: string;
}

/** Those of one answer alone, which say nothing of the next. */
interface AnswerHeaders {
  date: string;
  /** Whole seconds, by RFC 9111, 4.2.3. */
  age: string;
  /** That there was one; what it was is kept nowhere. */
  'set-cookie'?: string;
}

/** When a request went out and its answer came, in milliseconds since 1970. */
interface Moments {
  asked: number;
  came: number;
}

const flags = new Set(['no-store', 'no-cache', 'private', 'public']);
const ages = new Set(['max-age', 's-maxage']);
/** RFC 9111, 1.2.2: what a larger number stands for. */
const longestSeconds = 2 ** 31;
/** Sent back with each request: a longer one costs more than it spares. */
const maxTagLength = 1024;

const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;
/** A directive with the value that it may have, quoted or not; commas stand in quotes too. */
const directive = /([^\s,="]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]*))?/g;

/** Reads what is to be remembered of an answer's headers. Pure. */
function readCacheHeaders(headers: IncomingHttpHeaders): CacheHeaders {
  const control = [readControl(textOf(headers, 'cache-control')), pragma(headers)].filter(Boolean).join(', ');
  const expires = textOf(headers, 'expires');
  const etag = textOf(headers, 'etag');
  const modified = textOf(headers, 'last-modified');
  const vary = textOf(headers, 'vary');
  const type = textOf(headers, 'content-type');
  return {
    ...(control === '' ? {} : { 'cache-control': control }),
    // What is no date has passed already (RFC 9111, 5.3).
    ...(expires === undefined ? {} : { expires: isDate(expires) ? expires : new Date(0).toUTCString() }),
    ...(etag !== undefined && etag.length <= maxTagLength && entityTag.test(etag) ? { etag } : {}),
    ...(modified !== undefined && isDate(modified) ? { 'last-modified': modified } : {}),
    ...(vary === undefined ? {} : { vary: /(?:^|,)\s*\*\s*(?:,|$)/.test(vary) ? '*' : vary.toLowerCase() }),
    ...(type === undefined ? {} : { 'content-type': type }),
  };
}

/** Reads what counts for one answer alone: how old it is by the longest reckoning. Pure. */
function readAnswerHeaders(headers: IncomingHttpHeaders, { asked, came }: Moments): AnswerHeaders {
  const said = textOf(headers, 'date');
  const date = said !== undefined && isDate(said) ? said : new Date(came).toUTCString();
  const apparent = Math.max(0, came - Date.parse(date));
  const [ageSaid = ''] = textOf(headers, 'age')?.split(',') ?? [];
  const age = /^\s*\d+\s*$/.test(ageSaid) ? Math.min(Number(ageSaid), longestSeconds) * 1000 : 0;
  const oldest = Math.max(apparent, age + Math.max(0, came - asked));
  return {
    date,
    age: String(Math.ceil(oldest / 1000)),
    ...(headers['set-cookie'] === undefined ? {} : { 'set-cookie': 'some' }),
  };
}

/**
 * The directives that say anything to a cache which serves nothing stale: to it `must-revalidate` and its kin mean nothing, nor do
 * `stale-while-revalidate` and `stale-if-error`. Of several ages the shortest counts; what is no number is none.
 */
function readControl(text: string | undefined): string {
  if (text === undefined) return '';
  const found = new Map<string, string>();
  for (const [, written = '', quoted = ''] of text.matchAll(directive)) {
    const name = written.toLowerCase();
    if (flags.has(name)) found.set(name, name);
    if (!ages.has(name)) continue;
    const value = quoted.replaceAll('"', '');
    const seconds = /^\d+$/.test(value) ? Math.min(Number(value), longestSeconds) : 0;
    const before = Number(found.get(name)?.split('=')[1] ?? seconds);
    found.set(name, `${name}=${Math.min(seconds, before)}`);
  }
  return [...found.values()].join(', ');
}

/** HTTP/1.0's word for it, which counts where there is no other. */
function pragma(headers: IncomingHttpHeaders): string {
  if (headers['cache-control'] !== undefined) return '';
  return /no-cache/i.test(textOf(headers, 'pragma') ?? '') ? 'no-cache' : '';
}

function isDate(text: string): boolean {
  return httpDate.test(text) && !Number.isNaN(Date.parse(text));
}

/** A header as one text, however often it came. */
function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value?.trim();
}
