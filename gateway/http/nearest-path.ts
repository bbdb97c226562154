import { nearest } from '../../schemas/nearest.js';

/**
 * What to say of a path that is not served, where one of `paths` is near to it: those that the client may know.
 */
export function pathHint(path: string, paths: readonly string[]): string | undefined {
  const bare = path.replace(/\/+$/, '');
  if (bare !== path && paths.includes(bare)) {
    return `Did you mean ${bare}? No path here has a slash at its end.`;
  }
  // All begin with a slash, which likens nothing.
  const found = nearest(
    bare.slice(1),
    paths.map((each) => each.slice(1)),
  );
  return found === undefined ? undefined : `Did you mean /${found}?`;
}
