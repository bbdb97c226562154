import { distance } from 'fastest-levenshtein';

const longest = 64;

/**
 * The candidate that `name` is most likely a slip of, or undefined where none is near. Near: not more than a third of
 * the letters, or two, or half of a short name, have to change (Levenshtein), or one is the beginning of the other. Case is ignored.
 */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  // The distance costs the product of both lengths, and the name comes from outside.
  if (name.length === 0 || name.length > longest) return undefined;
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const known = candidate.toLowerCase();
    const changes = distance(wanted, known);
    const allowed = Math.min(Math.max(2, Math.floor(known.length / 3)), Math.floor(known.length / 2));
    const begins =
      wanted.length >= 3 && known.length >= 3 && (known.startsWith(wanted) || wanted.startsWith(known));
    if ((changes <= allowed || begins) && changes < least) {
      least = changes;
      best = candidate;
    }
  }
  return best;
}

/** `; did you mean "x"?`, or nothing where no candidate is near. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const found = nearest(name, candidates);
  return found === undefined ? '' : `; did you mean "${found}"?`;
}
