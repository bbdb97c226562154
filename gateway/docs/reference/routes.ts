import { makeAsset, sendAsset } from '../../http/assets.js';
import { assetRoutes } from '../asset-routes.js';
import type { DocRoute } from '../doc-route.js';
import { protect } from '../protect.js';
import { folder, readFiles } from './files.js';
import { referencePage } from './page.js';

/** `GET /docs`, where people read and try the document in swagger-ui, and the files of that page. */
export function referenceRoutes(): DocRoute[] {
  const files = readFiles();
  const page = makeAsset(Buffer.from(referencePage(files)), 'text/html; charset=utf-8');
  return [
    {
      path: '/docs',
      methods: ['GET'],
      handle(ctx) {
        protect(ctx);
        return sendAsset(ctx, page, 'no-cache');
      },
    },
    ...assetRoutes(folder, files),
  ];
}
