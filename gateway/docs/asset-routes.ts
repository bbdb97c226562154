import { type Asset, keptForever, sendAsset } from '../http/assets.js';
import type { DocRoute } from './doc-route.js';

/** The path of a page's file below `folder`, such as `/docs/assets`; it changes with the file's content. */
export function assetPath(folder: string, name: string, { version }: Asset): string {
  return `${folder}/${version}/${name}`;
}

/** Serves files below `folder` by their names, each at the whole path that `assetPath` gives. */
export function assetRoutes(folder: string, assets: Readonly<Record<string, Asset>>): DocRoute[] {
  return Object.entries(assets).map(([name, asset]) => ({
    path: assetPath(folder, name, asset),
    methods: ['GET'],
    handle: (ctx) => sendAsset(ctx, asset, keptForever),
  }));
}
