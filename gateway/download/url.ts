import { isIP } from 'node:net';
import { urlParameter } from '../../schemas/parameters/gateway-parameters.js';
import { tryUrl } from '../../schemas/try-url.js';
import { GatewayError, inputError } from '../errors.js';
import { addressVerdict, hostNameRefusal } from './address.js';

/** A url that may be asked for; of a host name, the addresses are still to be judged. */
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

/**
 * Judges a url without any I/O. Pure. `base` resolves a redirect's relative `Location`. The raw string is looked at first,
 * because the WHATWG parser silently drops tabs, newlines and outer spaces and takes `\` for `/`: what another
 * reader of the same string (a log, a filter in front) sees must be what is fetched. Everything else is judged after the
 * parser's normalisation, which turns decimal, octal, hexadecimal and full-width hosts into dotted quads.
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
  // The parser's percent-encoding makes up to nine characters of one; what is fetched is judged again by this very limit.
  if (url.href.length > maxLength) return { ok: false, kind: 'unparseable', problem: tooLong };
  if (url.username || url.password || userInfo.test(raw)) return refused('user name or password');
  if (exemptOrigins.has(url.origin)) return { ok: true, url, exempt: true };
  const reason = refusal(url);
  return reason ? refused(reason) : { ok: true, url, exempt: false };
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

function refused(problem: string): UrlVerdict {
  return { ok: false, kind: 'refused', problem };
}

/** The target that a stranger's url names; throws `invalid_input` on `field` for what is no url, `source_refused` for what may not be. */
export function checkUrl(raw: string, origins: ExemptOrigins, field = 'url'): Target {
  const verdict = parseSourceUrl(raw, origins);
  if (verdict.ok) return verdict;
  if (verdict.kind === 'refused') throw sourceRefused(verdict.problem);
  throw inputError([{ field, problem: verdict.problem }]);
}

/** Origins that the operator exempts from the guard, each `scheme://host[:port]` as `URL.origin` writes it. */
export type ExemptOrigins = ReadonlySet<string>;

/**
 * Reads the operator's list of exempt origins. An entry names exactly one scheme, host and port, e.g.
 * `http://127.0.0.1:9100`; a path, a user name, a wildcard or a scheme other than http and https throws, because a
 * rule that means more than its author thinks is a hole. The error gives the entry's place in the list, never its text.
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

/** One message for every refusal, so that nobody can map a network by what the gateway says; `reason` is for the log. */
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
