import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { GatewayError } from '../errors.js';
import type { SiteStage } from './state.js';

const types = {
  'site.css': 'text/css; charset=utf-8',
  'site.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

/** How the log names them all. */
export const assetRoute = '/assets';

type AssetName = keyof typeof types;

interface Asset {
  body: Buffer;
  type: string;
  version: string;
}

/** They are served as they lie in the source tree; the compiler leaves them there. */
const folder = new URL('../../../gateway/site/assets/', import.meta.url);
const assets = new Map<string, Asset>();

function load(name: AssetName): Asset {
  const known = assets.get(name);
  if (known) return known;
  const body = readFileSync(new URL(name, folder));
  const version = createHash('sha256').update(body).digest('hex').slice(0, 12);
  const asset = { body, type: types[name], version };
  assets.set(name, asset);
  return asset;
}

/** The path of a file that pages refer to; it changes with the file, so browsers may keep what they have. */
export function assetPath(name: AssetName): string {
  return `/assets/${load(name).version}/${name}`;
}

/** `GET /assets/:version/:name`. */
export function serveAsset(): SiteStage {
  return async function serveAsset(ctx) {
    const { name = '', version } = ctx.params;
    if (!Object.hasOwn(types, name)) throw new GatewayError('not_found');
    const asset = load(name as AssetName);
    // An old page asks for an old version: it gets today's, but does not keep it under the old name.
    const current = asset.version === version;
    ctx.set('cache-control', current ? 'public, max-age=31536000, immutable' : 'no-store');
    ctx.type = asset.type;
    ctx.body = asset.body;
  };
}
