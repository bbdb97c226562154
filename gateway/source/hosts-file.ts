import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

/** The addresses that the hosts file gives for a name (lower case), none if it does not list it. */
export type HostsFile = (name: string) => readonly string[];

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
