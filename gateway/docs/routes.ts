import type { Config } from '../config.js';
import { type Asset, makeAsset, sendAsset, sharedFiles } from '../http/assets.js';
import { version } from '../plugins/paths.js';
import type { Registry } from '../plugins/registry.js';
import { type DocRoute, loadAssets, protect } from './doc-route.js';
import { openApiDocument } from './openapi/document.js';
import { createPlayground, type PlaygroundOptions } from './playground/routes.js';

/** Where the document is served. */
const openApiPath = '/openapi.json';

/** `GET /openapi.json`: written on first request. */
function openApiRoute(registry: Registry): DocRoute {
  let asset: Asset | undefined;
  return {
    path: openApiPath,
    handle(ctx) {
      const text = () => JSON.stringify(openApiDocument(registry, { version }));
      asset ??= makeAsset(Buffer.from(text()), 'application/json; charset=utf-8');
      return sendAsset(ctx, asset, 'no-cache');
    },
  };
}

// Both folders are read at run time; the build copies swagger-ui's files from its package.
const root = import.meta.resolve('helper-gateway/package.json');
const ownFolder = new URL('gateway/docs/reference/assets/', root);
const swaggerFolder = new URL('dist/assets/swagger-ui-dist/', root);

/** `GET /docs`, where people read and try the document in swagger-ui, and the files of that page. */
function referenceRoutes(): DocRoute[] {
  const { path, routes } = loadAssets([
    ['swagger-ui.css', new URL('swagger-ui.css', swaggerFolder)],
    ['swagger-ui-bundle.js', new URL('swagger-ui-bundle.js', swaggerFolder)],
    ['reference.css', new URL('reference.css', ownFolder)],
    ['reference.js', new URL('reference.js', ownFolder)],
    ['icon.svg', sharedFiles['icon.svg']],
  ]);
  const page = makeAsset(Buffer.from(referencePage(path)), 'text/html; charset=utf-8');
  return [
    {
      path: '/docs',
      handle(ctx) {
        protect(ctx);
        return sendAsset(ctx, page, 'no-cache');
      },
    },
    ...routes,
  ];
}

/** The page in which swagger-ui shows the document. */
function referencePage(path: (name: string) => string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Reference – helper-gateway</title>
<link rel="icon" type="image/svg+xml" href="${path('icon.svg')}">
<link rel="stylesheet" href="${path('swagger-ui.css')}">
<link rel="stylesheet" href="${path('reference.css')}">
</head>
<body>
<header class="top"><a class="brand" href="/"><img src="${path('icon.svg')}" alt="" width="26" height="26"> helper-gateway <span>reference</span></a>
<nav aria-label="Site"><a href="/">Helpers</a> <a href="/docs" aria-current="page">Reference</a> <a href="${openApiPath}">OpenAPI</a></nav></header>
<main id="reference" data-document="${openApiPath}"><noscript><p class="no-script">This page needs scripts. The same stands in <a href="${openApiPath}">openapi.json</a>.</p></noscript></main>
<script src="${path('swagger-ui-bundle.js')}"></script>
<script src="${path('reference.js')}"></script>
</body>
</html>
`;
}

/** Every page and document about the helpers; none where they are switched off. */
export function docRoutes(options: PlaygroundOptions & { config: Pick<Config, 'docs'> }): DocRoute[] {
  if (options.config.docs === 'off') return [];
  return [...createPlayground(options), openApiRoute(options.registry), ...referenceRoutes()];
}
