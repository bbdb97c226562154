import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { addressVerdict } from './address.js';
import { hostOf, sourceFailed, sourceRefused, type Target } from './url.js';

export interface AddressLookupOptions {
  resolve: Resolve;
  resolveExempt: Resolve;
}

/**
 * The addresses at which a target may be reached now, in the order to try them: asked for before every request, over a kept
 * connection too. Rejects with `source_refused` if one of them is not public or there is none, `source_failed` if the name servers do not answer, or with
 * `signal`'s reason.
 */
export type LookUpAddresses = (target: Target, signal: AbortSignal) => Promise<readonly string[]>;

const lookupFailed = 'The host name of the url could not be looked up.';

/** What a name server says of a name that is not there, or has no address (also the system's own look-up, of exempt origins). */
const missingNameCodes = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME']);

/** Looks a name up once and judges every address that it has, unless the operator vouches for the origin. */
export function createAddressLookup({ resolve, resolveExempt }: AddressLookupOptions): LookUpAddresses {
  return async function judge({ url, exempt }, signal) {
    const host = hostOf(url);
    const addresses = isIP(host)
      ? [host]
      : await lookUp(exempt ? resolveExempt : resolve, { host, exempt }, signal);
    if (!exempt) for (const address of addresses) requirePublic(address);
    return addresses;
  };
}

/** Throws `source_refused` unless `address` is public. */
export function requirePublic(address: string): void {
  const verdict = addressVerdict(address);
  if (!verdict.public) throw sourceRefused(`${address}: ${verdict.reason}`);
}

/** A name that is missing is refused in the words of one that is inside: else anybody could ask which names there are inside. */
async function lookUp(
  resolve: Resolve,
  { host, exempt }: { host: string; exempt: boolean },
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  try {
    const addresses = await Promise.race([resolve(host, signal), aborted]);
    if (addresses.length > 0) return addresses;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (exempt || !missingNameCodes.has(code)) throw sourceFailed(lookupFailed, error);
  }
  throw sourceRefused(`${host} has no address`);
}

/** Every address of a host name, in the order to try them; rejects when there is none. */
type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

interface ResolveOptions {
  /** Default `/etc/hosts`. */
  hostsFile?: string;
  /** Name servers as `ip:port`; default: the system's. */
  servers?: readonly string[];
}

/**
 * Resolves names that strangers send: the hosts file, then DNS by c-ares. Not `dns.lookup`: getaddrinfo occupies one of
 * the few libuv threads that the image encodes need, without a way to cancel it, so that a handful of names under a silent
 * name server would stop every tenant's images. It also means that no search domain is ever appended to a stranger's name.
 */
export function createResolve({ hostsFile = '/etc/hosts', servers }: ResolveOptions = {}): Resolve {
  const listed = createHostsFile(hostsFile);
  return async function resolvePublic(name, signal) {
    const fromFile = listed(name);
    if (fromFile.length > 0) return fromFile;
    // One resolver a look-up: it can be cancelled alone, asks from a fresh UDP port and sees a changed resolv.conf.
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

/**
 * Resolves the hosts of exempt origins as any program on the machine would: with search domains and whatever the system's
 * name service adds. Only for names that the operator wrote.
 */
export async function resolveExempt(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}

/** The addresses that the hosts file gives for a name (lower case), none if it does not list it. */
type HostsFile = (name: string) => readonly string[];

/**
 * Reads a hosts file (hosts(5)), again whenever it has changed; a missing one lists nothing. Read synchronously: it is a
 * small file in the page cache, while `fs.promises` would queue behind the image encodes in the libuv pool. Own code because
 * Node reads hosts files within `dns.lookup` alone, and `createResolve` does without that.
 */
export function createHostsFile(path: string): HostsFile {
  let version = '';
  let names = new Map<string, string[]>();
  return function lookUp(name) {
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
