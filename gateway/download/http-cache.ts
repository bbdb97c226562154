import HttpCachePolicy from 'http-cache-semantics';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { ownHeaders } from './connection.js';

/** The headers of a conditional request. */
export type Validators = Partial<Record<'if-none-match' | 'if-modified-since', string>>;

/** A request, as far as its answer may depend on it. */
interface CacheableRequest {
  url: URL;
  accept: string;
}

/** What HTTP permits for one answer. */
export interface Policy {
  /** The fields of the answer, updated by later 304s. */
  readonly fields: CacheFields;
  /** Whether it may serve the same request now, without revalidation. */
  isFresh(): boolean;
  /** How to revalidate it; undefined where the server gave no validator. */
  validators(): Validators | undefined;
  /**
   * The policy after a 304 with these headers; undefined where they are about another version. Where not `storable`, the answer may
   * be used once and must not be stored.
   */
  revalidated(
    headers: IncomingHttpHeaders,
    moments: Moments,
  ): { storable: boolean; policy: Policy } | undefined;
}

/** Reads the policy of an answer with status 200: undefined where it may not be stored, or where that would be of no use. */
type ReadPolicy = (
  request: CacheableRequest,
  headers: IncomingHttpHeaders,
  moments: Moments,
) => Policy | undefined;

/**
 * The rules of RFC 9111 by `http-cache-semantics`, as a shared cache. Nothing is guessed from the date of the last change, and
 * nothing is served stale, whatever an answer permits. `now` is in milliseconds since 1970.
 */
export function createPolicyReader(now: () => number): ReadPolicy {
  class PolicyNow extends HttpCachePolicy {
    now(): number {
      return now();
    }
  }
  const options = { shared: true, cacheHeuristic: 0, immutableMinTimeToLive: 0 };

  function policyOf(
    { url, accept }: CacheableRequest,
    fields: CacheFields,
    received: IncomingHttpHeaders,
    moments: Moments,
  ) {
    const request = { url: url.href, method: 'GET', headers: { ...ownHeaders, accept, host: url.host } };
    const headers = { ...fields, ...readAnswerFields(received, moments) };
    const rules = new PolicyNow(request, { status: 200, headers }, options);
    const validators = (): Validators | undefined => {
      const { 'if-none-match': tag, 'if-modified-since': since } = rules.revalidationHeaders(request);
      const found: Validators = {
        ...(typeof tag === 'string' ? { 'if-none-match': tag } : {}),
        ...(typeof since === 'string' ? { 'if-modified-since': since } : {}),
      };
      return Object.keys(found).length > 0 ? found : undefined;
    };
    // Computed once: the library builds an answer's headers each time, which costs many times as much as looking at a clock.
    const from = now();
    const until = rules.satisfiesWithoutRevalidation(request) ? from + rules.timeToLive() : from;
    const isFresh = () => {
      const at = now();
      // A clock that was set back lets nothing live longer.
      return at >= from && at < until;
    };
    const policy: Policy = {
      fields,
      isFresh,
      validators,
      revalidated(received, moments) {
        const update = readCacheFields(received);
        const answer = { status: 304, headers: { ...fields, ...update } };
        if (!rules.revalidatedPolicy(request, answer).matches) return undefined;
        // Applied here because the library takes over only fields that were there before, and would miss a new `no-store` (RFC 9111,
        // 3.2). The content type is that of the bytes, whatever a 304 says.
        delete update['content-type'];
        return policyOf({ url, accept }, { ...fields, ...update }, received, moments);
      },
    };
    const storable = rules.storable() && fields.vary !== '*' && (isFresh() || validators() !== undefined);
    return { storable, policy };
  }

  return function readPolicy(request, headers, moments) {
    // An answer that ends with its connection may have been cut off, which is acceptable for one call only.
    const isWhole = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    const { storable, policy } = policyOf(request, readCacheFields(headers), headers, moments);
    return isWhole && storable ? policy : undefined;
  };
}

/**
 * The fields of an answer about caching, sanitised: each stands there once, in the one form that the RFC gives it, or not at all. The
 * library does not recognise `No-Store`, adds up a negative `Age`, and reads a year in `Expires: 9999`.
 */
interface CacheFields {
  'cache-control'?: string;
  expires?: string;
  etag?: string;
  'last-modified'?: string;
  vary?: string;
  'content-type'?: string;
}

/** When a request went out and its answer came, in milliseconds since 1970. */
interface Moments {
  asked: number;
  came: number;
}

const flags = new Set(['no-store', 'no-cache', 'private', 'public']);
const ages = new Set(['max-age', 's-maxage']);
/** RFC 9111, 1.2.2: stands for all larger numbers. */
const longestSeconds = 2 ** 31;
/** Sent back with each request: a longer one costs more than it saves. */
const maxTagLength = 1024;

const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;
/** A directive with its value, quoted or not; commas stand in quotes too. */
const directive = /([^\s,="]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,"]*))?/g;

function readCacheFields(headers: IncomingHttpHeaders): CacheFields {
  const text = (name: string) => textOf(headers, name);
  const fields: CacheFields = {};
  const control = [readControl(text('cache-control')), readPragma(headers)].filter(Boolean).join(', ');
  if (control !== '') fields['cache-control'] = control;
  const [expires, etag, modified, vary, type] = [
    text('expires'),
    text('etag'),
    text('last-modified'),
    text('vary'),
    text('content-type'),
  ];
  // An invalid date counts as past (RFC 9111, 5.3).
  if (expires !== undefined) fields.expires = isDate(expires) ? expires : new Date(0).toUTCString();
  if (etag !== undefined && etag.length <= maxTagLength && entityTag.test(etag)) fields.etag = etag;
  if (modified !== undefined && isDate(modified)) fields['last-modified'] = modified;
  if (vary !== undefined) fields.vary = /(?:^|,)\s*\*\s*(?:,|$)/.test(vary) ? '*' : vary.toLowerCase();
  if (type !== undefined) fields['content-type'] = type;
  return fields;
}

/** The fields that count for one answer alone: its date, and its age (RFC 9111, 4.2.3) by the longest calculation. */
function readAnswerFields(headers: IncomingHttpHeaders, { asked, came }: Moments) {
  const said = textOf(headers, 'date');
  const date = said !== undefined && isDate(said) ? said : new Date(came).toUTCString();
  const [ageSaid = ''] = textOf(headers, 'age')?.split(',') ?? [];
  const age = /^\s*\d+\s*$/.test(ageSaid) ? Math.min(Number(ageSaid), longestSeconds) * 1000 : 0;
  const oldest = Math.max(0, came - Date.parse(date), age + Math.max(0, came - asked));
  return {
    date,
    age: String(Math.ceil(oldest / 1000)),
    // That there was one matters; its value is stored nowhere.
    ...(headers['set-cookie'] === undefined ? {} : { 'set-cookie': 'some' }),
  };
}

/**
 * The directives that matter to a cache which serves nothing stale: `must-revalidate` and its kin, `stale-while-revalidate` and
 * `stale-if-error` do not. Of several ages the shortest counts; one that is no number is 0.
 */
function readControl(text = ''): string {
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

/** HTTP/1.0's `Pragma: no-cache`, which counts where there is no Cache-Control. */
function readPragma(headers: IncomingHttpHeaders): string {
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
