import { GatewayError } from '../errors.js';
import { type Asset, cachedForever, readAsset, sendAsset, sharedFiles } from '../http/assets.js';
import type { SiteStage } from './state.js';

const names = ['base.css', 'site.css', 'lists.css', 'site.js', 'icon.svg'] as const;

/** How the log names them all. */
export const assetRoute = '/assets';

type AssetName = (typeof names)[number];

/** They are served as they lie in the source tree; the compiler leaves them there. */
const folder = new URL('gateway/site/assets/', import.meta.resolve('helper-gateway/package.json'));
const sharedAssets: Partial<Record<AssetName, URL>> = sharedFiles;
const assets = new Map<string, Asset>();

function loadAsset(name: AssetName): Asset {
  const known = assets.get(name);
  if (known) return known;
  const asset = readAsset(sharedAssets[name] ?? new URL(name, folder));
  assets.set(name, asset);
  return asset;
}

/** The path of a file that pages refer to; it changes with the file, so that browsers may cache it for ever. */
export function assetPath(name: AssetName): string {
  return `/assets/${loadAsset(name).version}/${name}`;
}

/** `GET /assets/:version/:name`. */
export const serveAsset: SiteStage = async (ctx) => {
  const name = names.find((each) => each === ctx.params.name);
  if (name === undefined) throw new GatewayError('not_found');
  const asset = loadAsset(name);
  // An old page asks for an old version: it gets today's, but does not cache it under the old name.
  await sendAsset(ctx, asset, asset.version === ctx.params.version ? cachedForever : 'no-store');
};
