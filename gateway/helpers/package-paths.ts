import { fileURLToPath } from 'node:url';

/** The folder of the helpers that the package brings. */
export const builtinPlugins = fileURLToPath(
  new URL('dist/bundle/plugins', import.meta.resolve('helper-gateway/package.json')),
);

/** Where an author's helpers are unless a folder is named, below the current folder. */
export const usualFolder = 'helpers';

/** URL of the module that plugins import as `helper-gateway/helper`, where a folder of `folders` needs it resolved. */
export function helperUrl(folders: string[]): string | undefined {
  const outside = folders.some((folder) => folder !== builtinPlugins);
  return outside ? import.meta.resolve('helper-gateway/helper') : undefined;
}
