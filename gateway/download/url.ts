import { isIP } from 'node:net';
import { urlParameter } from '../../schemas/parameters/gateway-parameters.js';
import { tryUrl } from '../../schemas/try-url.js';
import { GatewayError, inputError } from '../errors.js';
import { addressVerdict, hostNameRefusal } from './address.js';

/** A url that may be requested; the addresses of a host name are still to be checked. */
export interface Target {
  url: URL;
  /** The operator vouches for this origin: any address, http and any port. */
  exempt: boolean;
}

type UrlVerdict =
  | ({ ok: true } & Target)
  /** `unparseable`: `problem` is for the client. `refused`: `problem` is for the log only. */
  | { ok: false; kind: 'unparseable' | 'refused'; problem: string };

const { maxLength } = urlParameter;
const tooLong = `is longer than the ${maxLength} characters that are allowed, percent-encoded ones counted as three`;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const stripped = /[\u0000-\u001f\u007f-\u009f\\]/;
const userInfo = /^[^/?#]*\/\/[^/?#]*@/;

/** The target of a stranger's url; throws `invalid_input` on `field` for what is no url, `source_refused` for one that may not be fetched. */
export function checkUrl(raw: string, origins: ExemptOrigins, field = 'url'): Target {
  const verdict = parseSourceUrl(raw, origins);
  if (verdict.ok) return verdict;
  if (verdict.kind === 'refused') throw sourceRefused(verdict.problem);
  throw inputError([{ field, problem: verdict.problem }]);
}

/**
 * Checks a url without any I/O. Pure. `base` resolves a redirect's relative `Location`. The raw string comes first, because the
 * WHATWG parser silently drops tabs, newlines and outer spaces and reads `\` as `/`: what another reader of the same string (a log,
 * a filter in front) sees must be what is fetched. Everything else is checked after the parser's normalisation, which turns
 * decimal, octal, hexadecimal and full-width hosts into dotted quads.
 */
export function parseSourceUrl(raw: string, exemptOrigins: ExemptOrigins, base?: URL): UrlVerdict {
  const malformed = malformation(raw);
  if (malformed) return { ok: false, kind: 'unparseable', problem: malformed };
  const url = tryUrl(raw, base);
  if (!url) {
    const problem =
      'is a string, but not a url; allowed is an absolute one, e.g. https://example.com/photo.jpg';
    return { ok: false, kind: 'unparseable', problem };
  }
  // The parser's percent-encoding makes up to nine characters of one, and the result is checked again before each request.
  if (url.href.length > maxLength) return { ok: false, kind: 'unparseable', problem: tooLong };
  const exempt = exemptOrigins.has(url.origin);
  const hasUser = url.username !== '' || url.password !== '' || userInfo.test(raw);
  const problem = hasUser ? 'user name or password' : exempt ? undefined : refusal(url);
  return problem === undefined ? { ok: true, url, exempt } : { ok: false, kind: 'refused', problem };
}

/** The url's host as a resolver, a socket or a certificate names it: no brackets around IPv6, no trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|\.$/g, '');
}

function malformation(raw: string): string | undefined {
  if (raw === '') return 'is an empty string; allowed is an absolute url, e.g. https://example.com/photo.jpg';
  if (raw.length > maxLength) return tooLong;
  if (raw !== raw.trim()) return 'has white space around it; send the url alone';
  if (!stripped.test(raw)) return undefined;
  return 'has a control character (tab, newline, …) or a backslash in it; percent-encode it as %09, %0A or %5C';
}

function refusal(url: URL): string | undefined {
  if (url.protocol !== 'https:') return `scheme ${url.protocol}`;
  if (url.port !== '') return `port ${url.port}`;
  const host = hostOf(url);
  if (isIP(host) === 0) return hostNameRefusal(url.hostname);
  const verdict = addressVerdict(host);
  return verdict.public ? undefined : verdict.reason;
}

/** Origins that the operator exempts from the guard, each `scheme://host[:port]` as `URL.origin` writes it. */
export type ExemptOrigins = ReadonlySet<string>;

/**
 * Reads the operator's exempt origins. An entry names exactly one scheme, host and port, e.g. `http://127.0.0.1:9100`; a path, a
 * user name, a wildcard or another scheme throws, because a rule that means more than its author thinks is a hole. The error
 * names the entry's place in the list, never its text.
 */
export function parseExemptOrigins(list: readonly string[]): ExemptOrigins {
  return new Set(
    list.map((entry, index) => {
      const url = tryUrl(entry);
      const exact = url && /^https?:$/.test(url.protocol) && !url.hostname.includes('*');
      if (!exact || entry.toLowerCase().replace(/\/$/, '') !== withDefaultPort(entry, url)) {
        throw new Error(
          `exempt origin ${index + 1} is not of the form scheme://host or scheme://host:port, e.g. http://127.0.0.1:9100`,
        );
      }
      return url.origin;
    }),
  );
}

/** The parser drops `:443` of https and `:80` of http; an entry may spell them out. */
function withDefaultPort(entry: string, url: URL): string {
  const port = url.protocol === 'https:' ? ':443' : ':80';
  return url.port === '' && entry.replace(/\/$/, '').endsWith(port) ? `${url.origin}${port}` : url.origin;
}

/** One message for every refusal, so that nobody can map a network by the answers; `reason` is for the log. */
export function sourceRefused(reason: string): GatewayError {
  return new GatewayError('source_refused', { cause: new Error(reason) });
}

/** `message` speaks of a server that anyone can ask (or the operator named), so it may say what that server did. */
export function sourceFailed(message: string, cause?: unknown): GatewayError {
  return new GatewayError('source_failed', { message, cause });
}

export function sourceTooLarge(maxBytes: number): GatewayError {
  return new GatewayError('image_too_large', {
    message: `The file at the url is larger than the ${maxBytes} bytes that are accepted.`,
  });
}
