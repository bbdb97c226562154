import type { ComponentChild, ComponentChildren } from 'preact';
import { render } from 'preact-render-to-string';
import { PageShell } from '../../../http/page-shell.js';
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
