import type { ComponentChild, ComponentChildren } from 'preact';
import type { SharedFile } from './assets.js';

interface PageShellProps {
  title: string;
  /** What stands beside the name of the product; the site of keys has nothing there. */
  kind?: string;
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
            <Mark />
            helper-gateway {kind && <span>{kind}</span>}
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

/** The mark of `icon.svg`. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <circle cx="11.5" cy="16" r="4.5" />
      <path d="M16 16h9v4M21 16v3" />
    </svg>
  );
}

/** The icons of both ports, drawn on a square of 16. */
const icons = {
  search: 'M11 11l4 4M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0z',
  done: 'M2.5 8.5l3.5 3.5 7.5-8',
  open: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z',
};

/** Beside text that says the same. */
export function Icon({ name }: { name: keyof typeof icons }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}
