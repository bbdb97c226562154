import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { addressVerdict } from './address.js';
import { hostOf, sourceFailed, sourceRefused, type Target } from './url.js';

/** Every address of a host name, in the order to try them; rejects when there is none. */
type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface AddressLookupOptions {
  /** Resolves names that strangers send. */
  resolve?: Resolve;
  /** Resolves the hosts of exempt origins. */
  resolveExempt?: Resolve;
}

/**
 * The addresses at which a target may be reached now, in the order to try them: looked up before every request, over an open
 * connection too. Rejects with `source_refused` if one of them is not public or there is none, `source_failed` if the name servers do
 * not answer, or with `signal`'s reason.
 */
export type LookUpAddresses = (target: Target, signal: AbortSignal) => Promise<readonly string[]>;

/** How name servers and the system's look-up report a name that is missing or has no address. */
const missingNameCodes = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME']);

/** Looks a name up once and checks every address that it has, unless the operator vouches for the origin. */
export function createAddressLookup({
  resolve = createResolve(),
  resolveExempt = resolveBySystem,
}: AddressLookupOptions): LookUpAddresses {
  return async function lookUpAddresses({ url, exempt }, signal) {
    const host = hostOf(url);
    if (isIP(host) === 0) {
      const addresses = await lookUp(exempt ? resolveExempt : resolve, { host, exempt }, signal);
      if (!exempt) addresses.forEach(requirePublic);
      return addresses;
    }
    if (!exempt) requirePublic(host);
    return [host];
  };
}

/** Throws `source_refused` unless `address` is public. */
export function requirePublic(address: string): void {
  const verdict = addressVerdict(address);
  if (!verdict.public) throw sourceRefused(`${address}: ${verdict.reason}`);
}

/** Refuses a missing name as it refuses an internal one: else anybody could probe for internal names. */
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
    if (exempt || !missingNameCodes.has(code))
      throw sourceFailed('The host name of the url could not be looked up.', error);
  }
  throw sourceRefused(`${host} has no address`);
}

/**
 * Resolves names that strangers send: the hosts file, then DNS by c-ares. Not `dns.lookup`: getaddrinfo occupies one of the few
 * libuv threads that the image encodes need, and cannot be cancelled, so that a handful of names under a silent name server would
 * stop every tenant's images. It also means that no search domain is ever appended to a stranger's name. Default hosts file:
 * `/etc/hosts`; name servers (`ip:port`): the system's.
 */
export function createResolve({
  hostsFile = '/etc/hosts',
  servers,
}: {
  hostsFile?: string;
  servers?: readonly string[];
} = {}): Resolve {
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

/** As any program on the machine would, with search domains: only for names that the operator wrote. */
async function resolveBySystem(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}

/**
 * Reads a hosts file (hosts(5)) again whenever it has changed, and returns the addresses of a name in lower case; a missing file lists
 * nothing. Synchronous: the file is small and in the page cache, while `fs.promises` would queue behind the image encodes. Node
 * reads hosts files within `dns.lookup` alone.
 */
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
