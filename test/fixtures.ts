import { fileURLToPath } from 'node:url';

/** Path of a fixture, which lies in the sources: the build copies none of them. */
export function fixture(path: string): string {
  return fileURLToPath(new URL(`../../test/fixtures/${path}`, import.meta.url));
}
