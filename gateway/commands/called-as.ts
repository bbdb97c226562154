import { readFileSync } from 'node:fs';

/**
 * How a person calls the command line again, for hints. `npx helper-gateway` is right in a checkout and where the package is
 * installed; of what npx runs from a tarball it keeps a copy of its own, and notes beside it what was asked for. Nobody is told to
 * ask the registry for that name, which is not ours.
 */
export function calledAs(module = import.meta.url): string {
  const [, kept] = /^(.*\/_npx\/[^/]+\/)node_modules\//.exec(module) ?? [];
  const asked = kept === undefined ? undefined : askedFor(new URL('package.json', kept));
  return `npx ${asked ?? 'helper-gateway'}`;
}

function askedFor(note: URL): string | undefined {
  try {
    const { _npx } = JSON.parse(readFileSync(note, 'utf8')) as { _npx?: { packages?: string[] } };
    return _npx?.packages?.[0];
  } catch {
    return undefined;
  }
}
