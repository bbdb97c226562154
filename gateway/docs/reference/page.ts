import { assetPath } from '../asset-routes.js';
import { openApiPath } from '../openapi/route.js';
import { folder, type ReferenceFiles } from './files.js';

/** The page in which swagger-ui shows the document. */
export function referencePage(files: ReferenceFiles): string {
  const path = (name: keyof ReferenceFiles) => assetPath(folder, name, files[name]);
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
