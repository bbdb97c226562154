import { lookup, Resolver } from 'node:dns/promises';
import { createHostsFile } from './hosts-file.js';

/** Every address of a host name, in the order to try them; rejects when there is none. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface ResolveOptions {
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
