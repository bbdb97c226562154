import { type Asset, cachedForever, sendAsset } from '../http/assets.js';
import type { CallContext, CallMiddleware } from '../pipeline/stage.js';
import type { LiveRegistry } from '../plugins/registry.js';

/** A path of the API's port that is no helper's: a page, a document or what belongs to one. */
export interface DocRoute {
  /** The whole path, without parameters. */
  path: string;
  methods: readonly ('GET' | 'POST')[];
  /** Answers by Koa's `ctx`; what it throws becomes the envelope of an error. */
  handle: CallMiddleware;
}

/** The path of a page's file below `folder`, such as `/docs/assets`; it changes with the file's content. */
export function assetPath(folder: string, name: string, { version }: Asset): string {
  return `${folder}/${version}/${name}`;
}

/** Serves files below `folder` by their names, each at the whole path that `assetPath` gives. */
export function assetRoutes(folder: string, assets: Readonly<Record<string, Asset>>): DocRoute[] {
  return Object.entries(assets).map(([name, asset]) => ({
    path: assetPath(folder, name, asset),
    methods: ['GET'],
    handle: (ctx) => sendAsset(ctx, asset, cachedForever),
  }));
}

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Pictures that were given and drawn never leave the page: they are blobs of its own.
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** The headers of a page that a key is typed into: nothing runs, is loaded or is sent anywhere but here, and nobody frames it. */
export function protect(ctx: Pick<CallContext, 'set'>): void {
  ctx.set({
    'content-security-policy': contentPolicy,
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  });
}

/** Gives what is kept under a name, and makes it where it is not. */
type Cached<T> = (name: string, make: () => T) => T;

/**
 * Keeps what is made of the helpers until they change, for whoever asks without a key may ask without end. A name stands for one of
 * `most` things at most: what more there should be is made each time.
 */
export function cacheUntilChange<T>(registry: Pick<LiveRegistry, 'watch'>, most: () => number): Cached<T> {
  const kept = new Map<string, T>();
  registry.watch(() => kept.clear());
  return function keep(name, make) {
    const found = kept.get(name) ?? make();
    if (kept.size < most()) kept.set(name, found);
    return found;
  };
}
