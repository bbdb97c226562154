import type { LiveRegistry } from '../../helpers/live-registry.js';
import { version } from '../../helpers/version.js';
import { type Asset, makeAsset, sendAsset } from '../../http/assets.js';
import type { DocRoute } from '../doc-route.js';
import { keepUntilChange } from '../keep-until-change.js';
import { openApiDocument } from './document.js';

/** Where the document is served. */
export const openApiPath = '/openapi.json';

/** `GET /openapi.json`: written when it is first asked for, and again when the helpers have changed. */
export function openApiRoute(registry: LiveRegistry): DocRoute {
  const keep = keepUntilChange<Asset>(registry, () => 1);

  function write(): Asset {
    const text = JSON.stringify(openApiDocument(registry, { version }));
    return makeAsset(Buffer.from(text), 'application/json; charset=utf-8');
  }

  return {
    path: openApiPath,
    methods: ['GET'],
    handle(ctx) {
      return sendAsset(ctx, keep('', write), 'no-cache');
    },
  };
}
