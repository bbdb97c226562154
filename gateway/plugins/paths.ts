import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The picture that helpers are tested with. The build leaves pictures among the sources. */
export const examplePicture = fileURLToPath(
  new URL('plugins/media/example.jpg', import.meta.resolve('helper-gateway/package.json')),
);

/** This package's version. */
export const { version } = createRequire(import.meta.url)('helper-gateway/package.json') as {
  version: string;
};

/** The package's own helpers. */
export const builtinPlugins = fileURLToPath(
  new URL('dist/bundle/plugins', import.meta.resolve('helper-gateway/package.json')),
);

/** The id of the helper that runs others. */
export const pipelineId = 'pipeline';

/** What the ids of tenants' recipes begin with. */
export const recipesFolder = 'recipes/';

/** The folder of an author's helpers, below the current folder, unless another is named. */
export const usualFolder = 'helpers';

/** The module that plugins import as `helper-gateway/helper`, if one of the folders needs it resolved. */
export function helperUrl(folders: string[]): string | undefined {
  const outside = folders.some((folder) => folder !== builtinPlugins);
  return outside ? import.meta.resolve('helper-gateway/helper') : undefined;
}

/** Paths of a helper: its own, and `/img/…` for `/media/…`, as in parts of the specification. */
export function pathsOf(id: string): string[] {
  return id.startsWith('media/') ? [`/${id}`, `/img/${id.slice('media/'.length)}`] : [`/${id}`];
}

/** Which of these helpers is served at a path. */
export function helperAt(path: string, ids: readonly string[]): string | undefined {
  return ids.find((id) => pathsOf(id).includes(path));
}
