import { makeAsset, sendAsset } from '../../http/assets.js';
import { assetRoutes } from '../asset-routes.js';
import type { DocRoute } from '../doc-route.js';
import { folder, readFiles } from './files.js';
import { referencePage } from './page.js';

/** Nothing from elsewhere, nothing inline; pictures that came as an answer are `blob:`, the viewer's icons `data:`. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `GET /docs`, where people read and try the document in swagger-ui, and the files of that page. */
export function referenceRoutes(): DocRoute[] {
  const files = readFiles();
  const page = makeAsset(Buffer.from(referencePage(files)), 'text/html; charset=utf-8');
  return [
    {
      path: '/docs',
      methods: ['GET'],
      handle(ctx) {
        ctx.set('content-security-policy', policy);
        ctx.set('referrer-policy', 'no-referrer');
        return sendAsset(ctx, page, 'no-cache');
      },
    },
    ...assetRoutes(folder, files),
  ];
}
