import { createHash } from 'node:crypto';
import { cachedForever, readAsset, sendAsset } from '../http/assets.js';
import type { CallContext, CallMiddleware } from '../pipeline/stage.js';

/** A path of the API's port that is no helper's, for GET: a page, a document or what belongs to one. */
export interface DocRoute {
  /** The whole path, without parameters. */
  path: string;
  /** Answers by Koa's `ctx`; what it throws becomes the envelope of an error. */
  handle: CallMiddleware;
}

/** The files that pages refer to: the path of each by its name, and their routes. */
export type Assets = ReturnType<typeof loadAssets>;

/**
 * Reads files to be served by these names. One version is part of all their paths, so that a script finds the modules that it imports
 * beside itself, each in the version that it was written for.
 */
export function loadAssets(files: readonly (readonly [name: string, file: URL])[]) {
  const assets = files.map(([name, file]) => ({ name, asset: readAsset(file) }));
  const version = createHash('sha256')
    .update(assets.map(({ name, asset }) => `${name} ${asset.version}`).join())
    .digest('hex')
    .slice(0, 12);
  const path = (name: string) => `/docs/assets/${version}/${name}`;
  return {
    path,
    routes: assets.map(
      ({ name, asset }): DocRoute => ({
        path: path(name),
        handle: (ctx) => sendAsset(ctx, asset, cachedForever),
      }),
    ),
  };
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

/** The headers of a page with a field for a key: nothing runs, is loaded or is sent anywhere but here, and no site frames it. */
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
