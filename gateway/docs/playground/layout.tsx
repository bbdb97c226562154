import type { ComponentChild, ComponentChildren } from 'preact';
import { render } from 'preact-render-to-string';
import type { Config } from '../../config.js';
import { sharedFiles } from '../../http/assets.js';
import { PageShell } from '../../http/page-shell.js';
import { type Assets, loadAssets } from '../doc-route.js';

/** They are served as they lie in the source tree; the compiler leaves them there. */
const assetFolder = new URL(
  'gateway/docs/playground/assets/',
  import.meta.resolve('helper-gateway/package.json'),
);

/** The modules that `playground.js` imports, directly or not: loaded beside it and not after it. */
const modules = [
  'answer.js',
  'controls.js',
  'dom.js',
  'fields.js',
  'files.js',
  'helper.js',
  'problems.js',
  'request.js',
  'snippets.js',
  'views.js',
] as const;

/** Pictures to try helpers with, fetched when chosen. */
export const samples = [
  { file: 'landscape.jpg', name: 'Landscape', type: 'image/jpeg' },
  { file: 'badge.png', name: 'Badge, transparent', type: 'image/png' },
  { file: 'pulse.gif', name: 'Pulse, animated', type: 'image/gif' },
] as const;

const fileNames = ['playground.css', 'playground.js', ...modules, ...samples.map(({ file }) => file)];

/** The files of the playground's pages. */
export function playgroundAssets(): Assets {
  const own = fileNames.map((name) => [name, new URL(name, assetFolder)] as const);
  return loadAssets([...Object.entries(sharedFiles), ...own]);
}

/** Why a plugin's file is not served, or not in its newest version. */
export interface PluginProblem {
  file: string;
  reason: string;
}

/** The limits of any call that pages show. */
export type ShownLimits = Pick<
  Config,
  'maxTextBytes' | 'maxImageBytes' | 'maxPixels' | 'maxFrames' | 'taskTimeoutMs' | 'sourceTimeoutMs'
>;

/** What is the same on every page. */
interface PageFrame {
  assets: Assets;
  problems: readonly PluginProblem[];
  /** Whether pages are to follow a change of the helpers. */
  live: boolean;
}

interface DocumentProps extends PageFrame {
  title: string;
}

/** A whole page as HTML; every value in it is escaped. */
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
    <PageShell
      title={title}
      kind="playground"
      path={assets.path}
      live={live}
      head={<Files assets={assets} />}
      navigation={<Navigation />}
    >
      <Problems problems={problems} />
      {children}
    </PageShell>
  );
}

function Files({ assets }: Pick<DocumentProps, 'assets'>) {
  return (
    <>
      <link rel="stylesheet" href={assets.path('playground.css')} />
      <script type="module" src={assets.path('playground.js')} />
      {modules.map((name) => (
        <link key={name} rel="modulepreload" href={assets.path(name)} />
      ))}
    </>
  );
}

function Navigation() {
  return (
    <nav aria-label="Site">
      <a href="/" aria-current="true">
        Helpers
      </a>
      <a href="/docs">Reference</a>
      <a href="/openapi.json">OpenAPI</a>
    </nav>
  );
}

/** Faults of the plugins' files; an older version of them may be served below. */
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

/** Where a key is had, as far as the visitor can get there. */
export function KeySource({ keySite }: { keySite: string | undefined }) {
  if (keySite === undefined) {
    return <>No key yet? Ask whoever runs this gateway: its first start printed one.</>;
  }
  return (
    <>
      No key yet? Use the one that the gateway’s first start printed, or get one at the{' '}
      <a href={keySite}>key site</a>.
    </>
  );
}
