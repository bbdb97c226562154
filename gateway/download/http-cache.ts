import HttpCachePolicy from 'http-cache-semantics';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { ownHeaders } from './connection.js';

export type Validators = Partial<Record<'if-none-match' | 'if-modified-since', string>>;

/** What HTTP permits for one answer. */
export interface Policy {
  /** The fields of the answer, updated by later 304s. */
  readonly fields: CacheFields;
  /** Whether it may serve the same request now, without revalidation. */
  isFresh(): boolean;
  /** How to revalidate it; undefined where the server gave no validator. */
  validators(): Validators | undefined;
  /** The policy after a 304; undefined where that is about another version. If not `storable`, it may be used once. */
  revalidated(
    headers: IncomingHttpHeaders,
    moments: Moments,
  ): { storable: boolean; policy: Policy } | undefined;
}

/** The rules of RFC 9111 for a shared cache that guesses no freshness and serves nothing stale. `now` is since 1970. */
export function createPolicyReader(now: () => number) {
  class PolicyNow extends HttpCachePolicy {
    now(): number {
      return now();
    }
  }
  const options = { shared: true, cacheHeuristic: 0, immutableMinTimeToLive: 0 };

  function policyOf(
    { url, accept }: { url: URL; accept: string },
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
        ...(typeof tag === 'string' && { 'if-none-match': tag }),
        ...(typeof since === 'string' && { 'if-modified-since': since }),
      };
      return Object.keys(found).length > 0 ? found : undefined;
    };
    // Computed once: the library builds an answer's headers each time.
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
        // The library updates only fields that were there before, and would miss a new `no-store` (RFC 9111, 3.2). The
        // content type is that of the bytes, whatever a 304 says.
        delete update['content-type'];
        return policyOf({ url, accept }, { ...fields, ...update }, received, moments);
      },
    };
    const storable = rules.storable() && fields.vary !== '*' && (isFresh() || validators() !== undefined);
    return { storable, policy };
  }

  /** The policy of an answer with status 200: undefined where it may not be stored, or where that would be of no use. */
  return function readPolicy(
    request: { url: URL; accept: string },
    headers: IncomingHttpHeaders,
    moments: Moments,
  ): Policy | undefined {
    // An answer that ends with its connection may have been cut off, which is acceptable for one call only.
    const isWhole = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    const { storable, policy } = policyOf(request, readCacheFields(headers), headers, moments);
    return isWhole && storable ? policy : undefined;
  };
}

/** An answer's fields, each once in its RFC form or not at all: the library reads `No-Store` and `Age: -1` wrongly. */
type CacheFields = {
  [name in 'cache-control' | 'expires' | 'etag' | 'last-modified' | 'vary' | 'content-type']?: string;
};

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
  const fields: CacheFields = {};
  const pragma = headers['cache-control'] === undefined && /no-cache/i.test(textOf(headers, 'pragma') ?? '');
  // HTTP/1.0's `Pragma` counts where there is no Cache-Control.
  const control = pragma ? 'no-cache' : readControl(textOf(headers, 'cache-control'));
  if (control !== '') fields['cache-control'] = control;
  const names = ['expires', 'etag', 'last-modified', 'vary', 'content-type'];
  const [expires, etag, modified, vary, type] = names.map((name) => textOf(headers, name));
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

/** The directives that matter where nothing stale is served. Of several ages the shortest counts; malformed is 0. */
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

const isDate = (text: string): boolean => httpDate.test(text) && !Number.isNaN(Date.parse(text));

function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value?.trim();
}
