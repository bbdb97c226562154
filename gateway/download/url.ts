import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { tryUrl } from '../../schemas/input/parse.js';
import { urlParameter } from '../../schemas/parameters/compile-schema.js';
import { GatewayError, inputError } from '../errors.js';
import { addressRefusal, hostNameRefusal } from './address.js';

/** A url that may be requested; the addresses of a host name are still to be checked. */
export interface Target {
  url: URL;
  /** The operator vouches for this origin: any address, http and any port. */
  exempt: boolean;
}

/** `unparseable`: `problem` is for the client. `refused`: `problem` is for the log only. */
type UrlVerdict = ({ ok: true } & Target) | { ok: false; kind: 'unparseable' | 'refused'; problem: string };

const { maxLength } = urlParameter;
const notUrl = 'is a string, but not a url; allowed is an absolute one, e.g. https://example.com/photo.jpg';
const tooLong = `is longer than the ${maxLength} characters that are allowed, percent-encoded ones counted as three`;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const stripped = /[\u0000-\u001f\u007f-\u009f\\]/;
const userInfo = /^[^/?#]*\/\/[^/?#]*@/;

/** The target of a stranger's url; throws `invalid_input` on `field` for what is no url, or `source_refused`. */
export function checkUrl(raw: string, origins: ExemptOrigins, field = 'url'): Target {
  const verdict = parseSourceUrl(raw, origins);
  if (verdict.ok) return verdict;
  if (verdict.kind === 'refused') throw sourceRefused(verdict.problem);
  throw inputError([{ field, problem: verdict.problem }]);
}

/**
 * Checks a url. Pure. `base` resolves a redirect's `Location`. The raw string comes first, because the WHATWG parser
 * drops tabs, newlines and outer spaces and reads `\` as `/`: what a log or a filter sees must be what is fetched. All
 * else is checked after its normalisation, which turns decimal, octal, hexadecimal and full-width hosts into dotted
 * quads.
 */
export function parseSourceUrl(raw: string, exemptOrigins: ExemptOrigins, base?: URL): UrlVerdict {
  const malformed = malformation(raw);
  if (malformed) return { ok: false, kind: 'unparseable', problem: malformed };
  const url = tryUrl(raw, base);
  if (!url) return { ok: false, kind: 'unparseable', problem: notUrl };
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
  return isIP(host) === 0 ? hostNameRefusal(url.hostname) : addressRefusal(host);
}

/** Origins that the operator exempts from the guard, each `scheme://host[:port]` as `URL.origin` writes it. */
type ExemptOrigins = ReadonlySet<string>;

/** Reads exempt origins: one that means more than its author thinks is a hole. Errors name an index, never the text. */
export function parseExemptOrigins(list: readonly string[]): ExemptOrigins {
  return new Set(
    list.map((entry, index) => {
      const url = tryUrl(entry);
      const exact = url && /^https?:$/.test(url.protocol) && !url.hostname.includes('*');
      if (!exact || entry.toLowerCase().replace(/\/$/, '') !== withDefaultPort(entry, url)) {
        const form = 'scheme://host or scheme://host:port, e.g. http://127.0.0.1:9100';
        throw new Error(`exempt origin ${index + 1} is not of the form ${form}`);
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

/** One message for every refusal, so that no caller can map a network by the answers; `reason` is for the log. */
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

/** Every address of a host name, in the order to try them; rejects when there is none. */
type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface AddressLookupOptions {
  resolve?: Resolve;
  resolveExempt?: Resolve;
}

export type LookUpAddresses = ReturnType<typeof createAddressLookup>;

/** How name servers and the system's look-up report a name that is missing or has no address. */
const missingNameCodes = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME']);

/**
 * Looks a name up once, before every request, and checks all its addresses unless the operator vouches for the origin.
 * Rejects with `source_refused` if one is not public or there is none, or with `source_failed`.
 */
export function createAddressLookup({
  resolve = createResolve(),
  // As any program on the machine would, with search domains: these names are the operator's own.
  resolveExempt = async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
}: AddressLookupOptions) {
  return async function lookUpAddresses({ url, exempt }: Target, signal: AbortSignal) {
    const host = hostOf(url);
    const byName = exempt ? resolveExempt : resolve;
    const addresses = isIP(host) === 0 ? await lookUp(byName, host, exempt, signal) : [host];
    if (!exempt) addresses.forEach(requirePublic);
    return addresses;
  };
}

export function requirePublic(address: string): void {
  const reason = addressRefusal(address);
  if (reason !== undefined) throw sourceRefused(`${address}: ${reason}`);
}

/** Refuses a missing name as it refuses an internal one: else callers could probe for internal names. */
async function lookUp(resolve: Resolve, host: string, exempt: boolean, signal: AbortSignal) {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    const addresses = await Promise.race([resolve(host, signal), aborted]);
    if (addresses.length > 0) return addresses;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (exempt || !missingNameCodes.has(code))
      throw sourceFailed('The host name of the url could not be looked up.', error);
  }
  throw sourceRefused(`${host} has no address`);
}

/**
 * Resolves names that strangers send: the hosts file, then DNS by c-ares, without search domains. Not `dns.lookup`,
 * which occupies a libuv thread and cannot be cancelled: a few names under a silent name server would stop all image
 * encodes.
 */
export function createResolve(hostsFile = '/etc/hosts', servers?: readonly string[]): Resolve {
  const listed = createHostsFile(hostsFile);
  return async function resolve(name, signal) {
    const fromFile = listed(name);
    if (fromFile.length > 0) return fromFile;
    // A resolver for each look-up can be cancelled alone, asks from a fresh UDP port and sees a changed resolv.conf.
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length === 0) throw v4.status === 'rejected' ? v4.reason : new Error('no address');
      return addresses;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}

/** The addresses of a name in a hosts file. Synchronous, for `fs.promises` would queue behind image encodes. */
export function createHostsFile(path: string): (name: string) => readonly string[] {
  let version = '';
  let names = new Map<string, string[]>();
  return function addressesOf(name) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return [];
    const current = `${stat.dev}:${stat.ino}:${stat.mtimeMs}:${stat.size}`;
    if (current !== version) {
      names = parseHosts(readFileSync(path, 'utf8'));
      version = current;
    }
    return names.get(name) ?? [];
  };
}

/** Name → addresses in the file's order. Pure. */
export function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase();
      names.set(name, [...(names.get(name) ?? []), address]);
    }
  }
  return names;
}
