import type { Config } from '../config.js';
import { type Asset, makeAsset, sendAsset } from '../http/assets.js';
import type { PluginProblem } from '../plugins/discover.js';
import { version } from '../plugins/paths.js';
import type { Registry } from '../plugins/registry.js';
import { cacheDocs, type DocRoute, loadAssets, protect } from './doc-route.js';
import { openApiDocument } from './openapi/document.js';
import { createPlayground } from './playground/routes.js';

/** Where the document is served. */
const openApiPath = '/openapi.json';

/** `GET /openapi.json`: written on first request. */
function openApiRoute(registry: Registry): DocRoute {
  const cached = cacheDocs<Asset>(1);
  const write = () => {
    const text = JSON.stringify(openApiDocument(registry, { version }));
    return makeAsset(Buffer.from(text), 'application/json; charset=utf-8');
  };
  return {
    path: openApiPath,
    methods: ['GET'],
    handle: (ctx) => sendAsset(ctx, cached('', write), 'no-cache'),
  };
}

// Both folders are read at run time; the build copies swagger-ui's files from its package.
const ownFolder = new URL(
  'gateway/docs/reference/assets/',
  import.meta.resolve('helper-gateway/package.json'),
);
const swaggerFolder = new URL(
  'dist/assets/swagger-ui-dist/',
  import.meta.resolve('helper-gateway/package.json'),
);

/** `GET /docs`, where people read and try the document in swagger-ui, and the files of that page. */
function referenceRoutes(): DocRoute[] {
  const { path, routes } = loadAssets([
    ['swagger-ui.css', new URL('swagger-ui.css', swaggerFolder)],
    ['swagger-ui-bundle.js', new URL('swagger-ui-bundle.js', swaggerFolder)],
    ['reference.css', new URL('reference.css', ownFolder)],
    ['reference.js', new URL('reference.js', ownFolder)],
    ['icon.png', new URL('favicon-32x32.png', swaggerFolder)],
  ]);
  const page = makeAsset(Buffer.from(referencePage(path)), 'text/html; charset=utf-8');
  return [
    {
      path: '/docs',
      methods: ['GET'],
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
<link rel="icon" type="image/png" href="${path('icon.png')}">
<link rel="stylesheet" href="${path('swagger-ui.css')}">
<link rel="stylesheet" href="${path('reference.css')}">
</head>
<body>
<header class="top"><a class="brand" href="/">helper-gateway <span>reference</span></a>
<nav aria-label="Site"><a href="/">Helpers</a> <a href="/docs" aria-current="page">Reference</a> <a href="${openApiPath}">OpenAPI</a></nav></header>
<main id="reference" data-document="${openApiPath}"><noscript><p class="no-script">This page needs scripts. The same stands in <a href="${openApiPath}">openapi.json</a>.</p></noscript></main>
<script src="${path('swagger-ui-bundle.js')}"></script>
<script src="${path('reference.js')}"></script>
</body>
</html>
`;
}

interface DocOptions {
  registry: Registry;
  config: Config;
  /** The key-management site's address for a visitor who used this host name; undefined where they cannot reach it. */
  keySite: (hostname: string) => string | undefined;
  /** Faults of the plugins' files, where helpers are being written: they are shown then, and pages follow what changes. */
  problems: (() => readonly PluginProblem[]) | undefined;
}

/** Every page and document about the helpers; none where they are switched off. */
export function docRoutes({ registry, config, keySite, problems }: DocOptions): DocRoute[] {
  if (config.docs === 'off') return [];
  const playground = createPlayground({
    registry,
    limits: config,
    apiUrl: config.apiUrl,
    keySite,
    // Elsewhere they are for the operator's log: they name files of the machine.
    ...(problems ? { problems, live: true } : {}),
  });
  return [...playground, openApiRoute(registry), ...referenceRoutes()];
}
