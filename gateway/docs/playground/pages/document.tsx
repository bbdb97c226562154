import type { ComponentChild, ComponentChildren } from 'preact';
import { render } from 'preact-render-to-string';
import { modules } from '../assets.js';
import type { PageFrame, PluginProblem } from '../page.js';

interface DocumentProps extends PageFrame {
  title: string;
}

/** A whole page as HTML; every value in it is escaped, since no page asks for the opposite. */
export function renderDocument(props: DocumentProps, body: ComponentChild): string {
  return `<!doctype html>${render(<Document {...props}>{body}</Document>)}`;
}

function Document({
  title,
  assets,
  live,
  problems,
  children,
}: DocumentProps & { children: ComponentChildren }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{`${title} · helper-gateway`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href={assets.path('icon.svg')} type="image/svg+xml" />
        <link rel="stylesheet" href={assets.path('base.css')} />
        <link rel="stylesheet" href={assets.path('playground.css')} />
        <script type="module" src={assets.path('playground.js')} />
        {modules.map((name) => (
          <link key={name} rel="modulepreload" href={assets.path(name)} />
        ))}
      </head>
      <body data-live={live || undefined}>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href="/">
            helper-gateway <span>playground</span>
          </a>
          <nav aria-label="Site">
            <a href="/" aria-current="true">
              Helpers
            </a>
            <a href="/docs">Reference</a>
            <a href="/openapi.json">OpenAPI</a>
          </nav>
        </header>
        <main id="main" tabIndex={-1}>
          <Problems problems={problems} />
          {children}
        </main>
      </body>
    </html>
  );
}

/** What is wrong with plugins as they lie there now; what is shown below may be an older version of them. */
function Problems({ problems }: { problems: readonly PluginProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <div class="notice bad broken" role="alert">
      <p>
        <strong>
          {problems.length === 1 ? 'A plugin has a fault' : `${problems.length} plugins have faults`}
        </strong>
        {'; the last version that worked is served.'}
      </p>
      <dl>
        {problems.map(({ file, reason }) => (
          <div key={file}>
            <dt>
              <code>{file}</code>
            </dt>
            <dd>
              <pre>{reason}</pre>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
