import type { ComponentChild, ComponentChildren } from 'preact';
import type { SharedFile } from './assets.js';

interface PageShellProps {
  title: string;
  kind: 'keys' | 'playground';
  path: (name: SharedFile) => string;
  /** Styles and scripts of these pages, after the shared ones. */
  head: ComponentChild;
  navigation: ComponentChild;
  /** Whether the page refreshes itself. */
  live?: boolean;
  children: ComponentChildren;
}

/** The frame of every page on both ports: head, skip link, brand and main part. */
export function PageShell({ title, kind, path, head, navigation, live = false, children }: PageShellProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{`${title} · helper-gateway`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href={path('icon.svg')} type="image/svg+xml" />
        <link rel="stylesheet" href={path('base.css')} />
        {head}
      </head>
      <body data-live={live || undefined}>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href="/">
            helper-gateway <span>{kind}</span>
          </a>
          {navigation}
        </header>
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </body>
    </html>
  );
}
