import { readFileSync } from 'node:fs';
import cssColors from 'color-name';

const cssHex = new Map(
  Object.entries(cssColors).map(([name, rgb]) => [
    name,
    `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`,
  ]),
);

let listed: Map<string, string> | undefined;

/** A colour name without what people vary: case, accents, spaces, hyphens, and gray for grey. */
export function nameKey(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replaceAll('gray', 'grey');
}

/** `#rrggbb` of a CSS colour name (package `color-name`), by its key; undefined where CSS has no such name. */
export function cssColor(key: string): string | undefined {
  return cssHex.get(key);
}

/** Loads the list of `listedColor`, which takes about 40 ms and 10 MB: not to be had in the midst of a call. */
export function loadColorNames(): void {
  listed ??= loadList();
}

/**
 * `#rrggbb` of one of the 30,000 names of the package `color-name-list`, by its key; undefined where it is not listed.
 * The first phrase that needs the list loads it, where nobody has done so before.
 */
export function listedColor(key: string): string | undefined {
  listed ??= loadList();
  return listed.get(key);
}

function loadList(): Map<string, string> {
  // The build copies it from the package.
  const file = new URL(
    'dist/assets/color-name-list/colors.json',
    import.meta.resolve('helper-gateway/package.json'),
  );
  const colors: [name: string, hex: string][] = JSON.parse(readFileSync(file, 'utf8'));
  const byKey = new Map<string, string>();
  for (const [name, hex] of colors) {
    const key = nameKey(name);
    if (!byKey.has(key)) byKey.set(key, hex);
  }
  return byKey;
}
