import { createHash } from 'node:crypto';
import { keptForever, readAsset, sendAsset } from '../../http/assets.js';
import { sharedFiles } from '../../http/shared-files.js';
import type { DocRoute } from '../doc-route.js';

/** They are served as they lie in the source tree; the compiler leaves them there. */
const folder = new URL('gateway/docs/playground/assets/', import.meta.resolve('helper-gateway/package.json'));

/** The modules that `playground.js` imports, by itself or through others: asked for beside it and not after it. */
export const modules = [
  'address.js',
  'answer.js',
  'call.js',
  'compare.js',
  'controls.js',
  'dom.js',
  'fields.js',
  'files.js',
  'helper.js',
  'live.js',
  'problems.js',
  'request.js',
  'snippets.js',
  'values.js',
  'views.js',
] as const;

/** Pictures to try helpers with: fetched when one is asked for. */
export const samples = [
  { file: 'landscape.jpg', name: 'Landscape', type: 'image/jpeg' },
  { file: 'badge.png', name: 'Badge, transparent', type: 'image/png' },
  { file: 'pulse.gif', name: 'Pulse, animated', type: 'image/gif' },
] as const;

const names = ['playground.css', 'playground.js', ...modules, ...samples.map(({ file }) => file)];

/** What the playground's pages refer to. */
export interface Assets {
  /** The path of one of them. */
  path(name: string): string;
  routes: DocRoute[];
}

/**
 * Reads the files of the pages. One version stands in the paths of all of them, so that a script finds the modules that it imports
 * beside itself, and each in the version that it was written for.
 */
export function loadAssets(): Assets {
  const own = names.map((name): [string, URL] => [name, new URL(name, folder)]);
  const assets = [...Object.entries(sharedFiles), ...own].map(([name, file]) => ({
    name,
    asset: readAsset(file),
  }));
  const version = createHash('sha256')
    .update(assets.map(({ name, asset }) => `${name} ${asset.version}`).join())
    .digest('hex')
    .slice(0, 12);
  const path = (name: string) => `/docs/assets/${version}/${name}`;
  return {
    path,
    routes: assets.map(({ name, asset }) => ({
      path: path(name),
      methods: ['GET'],
      handle: (ctx) => sendAsset(ctx, asset, keptForever),
    })),
  };
}
