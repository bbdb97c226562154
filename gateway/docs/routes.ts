import type { Config } from '../config.js';
import { type Asset, makeAsset, readAsset, sendAsset } from '../http/assets.js';
import { version } from '../plugins/paths.js';
import type { LiveRegistry } from '../plugins/registry.js';
import { assetPath, assetRoutes, cacheUntilChange, type DocRoute, protect } from './doc-route.js';
import { openApiDocument } from './openapi/document.js';
import { createPlayground } from './playground/routes.js';

/** Where the document is served. */
const openApiPath = '/openapi.json';

/** `GET /openapi.json`: written when it is first asked for, and again when the helpers have changed. */
function openApiRoute(registry: LiveRegistry): DocRoute {
  const keep = cacheUntilChange<Asset>(registry, () => 1);

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

/** The path below which the files of the page are served. */
const referenceFolder = '/docs/assets';

/** Own files are served as they lie in the source tree; the compiler leaves them there. */
const ownFiles = new URL(
  'gateway/docs/reference/assets/',
  import.meta.resolve('helper-gateway/package.json'),
);

/** The files of the page by their names. */
type ReferenceFiles = ReturnType<typeof readReferenceFiles>;

/** Reads them; the build has copied swagger-ui's from its package. */
function readReferenceFiles() {
  const folder = new URL('dist/assets/swagger-ui-dist/', import.meta.resolve('helper-gateway/package.json'));
  const ofSwagger = (name: string): Asset => readAsset(new URL(name, folder));
  return {
    'swagger-ui.css': ofSwagger('swagger-ui.css'),
    'swagger-ui-bundle.js': ofSwagger('swagger-ui-bundle.js'),
    'reference.css': readAsset(new URL('reference.css', ownFiles)),
    'reference.js': readAsset(new URL('reference.js', ownFiles)),
    'icon.png': ofSwagger('favicon-32x32.png'),
  };
}

/** The page in which swagger-ui shows the document. */
function referencePage(files: ReferenceFiles): string {
  const path = (name: keyof ReferenceFiles) => assetPath(referenceFolder, name, files[name]);
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

/** `GET /docs`, where people read and try the document in swagger-ui, and the files of that page. */
function referenceRoutes(): DocRoute[] {
  const files = readReferenceFiles();
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
    ...assetRoutes(referenceFolder, files),
  ];
}

interface DocOptions {
  registry: LiveRegistry;
  config: Config;
  /** The key-management site's address for somebody who came by this host name, if they can reach it. */
  keySite: (hostname: string) => string | undefined;
  /** Whether helpers are being written: faults of their files are shown then, and pages follow what changes. */
  isDev: boolean;
}

/** Every page and document about the helpers; none where they are switched off. */
export function docRoutes({ registry, config, keySite, isDev }: DocOptions): DocRoute[] {
  if (config.docs === 'off') return [];
  const playground = createPlayground({
    registry,
    limits: config,
    apiUrl: config.apiUrl,
    keySite,
    // Elsewhere they are for the operator's log: they name files of the machine.
    problems: () => (isDev ? registry.problems() : []),
    live: isDev,
  });
  return [...playground, openApiRoute(registry), ...referenceRoutes()];
}
