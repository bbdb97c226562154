import { createHash } from 'node:crypto';

/** Characters of a tool's name at most. */
const longest = 128;

/**
 * The name of each helper's tool: its id with `_` for `/`. Two ids may come to the same one, as `a/b` and `a_b` do, or to one
 * that is too long: the first in order keeps the name, and the others have it with a digest of the id behind a dot, the same on
 * every gateway that serves these helpers.
 */
export function toolNames(ids: Iterable<string>): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const sorted = [...ids].sort((a, b) => (a < b ? -1 : 1));
  const plain = (id: string) => id.replaceAll('/', '_');
  const isFree = (name: string) => !taken.has(name) && name.length <= longest;
  const give = (id: string, name: string) => {
    names.set(id, name);
    taken.add(name);
  };
  for (const id of sorted) if (isFree(plain(id))) give(id, plain(id));
  for (const id of sorted.filter((each) => !names.has(each))) {
    const digest = createHash('sha256').update(id).digest('hex');
    for (let length = 8; !names.has(id); length += 1) {
      const end = `.${digest.slice(0, length)}`;
      const name = plain(id).slice(0, longest - end.length) + end;
      if (isFree(name)) give(id, name);
    }
  }
  return names;
}
