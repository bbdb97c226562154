import { readdirSync } from 'node:fs';
import type { ComponentChild } from 'preact';
import { render } from 'preact-render-to-string';
import type { FileField } from '../../../schemas/declared-helper.js';
import { nearest } from '../../../schemas/nearest.js';
import { type Asset, makeAsset, sendAsset, sharedFiles } from '../../http/assets.js';
import { PageShell } from '../../http/page-shell.js';
import { isOwnHost } from '../../http/request.js';
import type { CallContext } from '../../pipeline/stage.js';
import type { PluginProblem } from '../../plugins/discover.js';
import { pipelineId } from '../../plugins/paths.js';
import { stepHelpers } from '../../plugins/recipes/steps.js';
import type { Helper, Registry } from '../../plugins/registry.js';
import { type DocRoute, loadAssets, protect } from '../doc-route.js';
import { KeySource } from './form.js';
import { HelperPage, type ShownConfig } from './helper-page.js';

/** They are served as they lie in the source tree; the compiler leaves them there. */
const assetFolder = new URL(
  'gateway/docs/playground/assets/',
  import.meta.resolve('helper-gateway/package.json'),
);

const htmlType = 'text/html; charset=utf-8';

export interface PlaygroundOptions {
  registry: Registry;
  config: ShownConfig;
  /**
   * Where a visitor who used this host name gets keys; undefined where they cannot get there. Always one of two: a page is cached
   * for each.
   */
  keySite: (hostname: string) => string | undefined;
  /**
   * Faults of the plugins' files, where helpers are being written: open pages then follow their changes. They name files, and are shown
   * only for a host of this machine, or `apiUrl`.
   */
  problems: (() => readonly PluginProblem[]) | undefined;
}

/** `GET /`: all helpers, or the page of one (`?helper=text/shout`), and the files of these pages. */
export function createPlayground({ registry, config, keySite, problems }: PlaygroundOptions): DocRoute[] {
  const fileNames = readdirSync(assetFolder).sort();
  // Each page loads all of them, directly or not: at once, and not one after another.
  const modules = fileNames.filter((name) => name.endsWith('.js') && name !== 'playground.js');
  const own = fileNames.map((name) => [name, new URL(name, assetFolder)] as const);
  const assets = loadAssets([...Object.entries(sharedFiles), ...own]);
  // No key limits requests of pages.
  const cached = new Map<string, Asset>();
  const mostCached = 4 * (registry.size + 1);

  function answerPage(ctx: CallContext): Promise<void> | void {
    const site = keySite(ctx.hostname);
    const shown = isOwnHost(ctx.get('host'), config.apiUrl) ? (problems?.() ?? []) : [];
    const name = new URLSearchParams(ctx.querystring).get('helper');
    const helper = name === null ? undefined : registry.get(name);
    protect(ctx);
    if (name !== null && helper === undefined) {
      ctx.status = 404;
      ctx.type = htmlType;
      ctx.body = write('No such helper', shown, <UnknownHelper name={name} registry={registry} />);
      return;
    }
    // Nothing else of a request is in a page, because it is cached: neither its Host nor the rest of its query.
    const variant = `${helper?.id ?? ''} ${JSON.stringify(shown)} ${site ?? ''}`;
    let page = cached.get(variant);
    if (!page) {
      const steps = helper?.id === pipelineId ? stepHelpers(registry) : undefined;
      const html = helper
        ? write(helper.id, shown, <HelperPage {...{ helper, assets, config, keySite: site, steps }} />)
        : write('Helpers', shown, <HelperList registry={registry} keySite={site} />);
      page = makeAsset(Buffer.from(html), htmlType);
      if (cached.size < mostCached) cached.set(variant, page);
    }
    // Validated each time: a helper may have changed by then.
    return sendAsset(ctx, page, 'no-cache');
  }

  /** A whole page as HTML; every value in it is escaped. */
  function write(title: string, shown: readonly PluginProblem[], body: ComponentChild): string {
    const files = (
      <>
        <link rel="stylesheet" href={assets.path('playground.css')} />
        <script type="module" src={assets.path('playground.js')} />
        {modules.map((name) => (
          <link key={name} rel="modulepreload" href={assets.path(name)} />
        ))}
      </>
    );
    const navigation = (
      <nav aria-label="Site">
        <a href="/" aria-current="true">
          Helpers
        </a>
        <a href="/docs">Reference</a>
        <a href="/openapi.json">OpenAPI</a>
      </nav>
    );
    const shell = { title, navigation, path: assets.path, live: problems !== undefined };
    const page = (
      <PageShell {...shell} kind="playground" head={files}>
        <Problems problems={shown} />
        {body}
      </PageShell>
    );
    return `<!doctype html>${render(page)}`;
  }

  return [{ path: '/', handle: answerPage }, ...assets.routes];
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

/** All helpers, by the first segment of their paths. */
function HelperList({ registry, keySite }: { registry: Registry; keySite: string | undefined }) {
  const groups = groupsOf(registry);
  return (
    <>
      <h1>Helpers</h1>
      <p class="lead">
        Small tools behind one API. Pick one to try it here; each takes GET and POST, with parameters in the
        query, as JSON or as a form, and answers with JSON or a file.
      </p>
      <p class="quiet">
        A call needs an API key. <KeySource keySite={keySite} />
      </p>
      <p class="quiet">
        The <a href="/docs">reference</a> has every path, and <a href="/openapi.json">openapi.json</a> makes
        clients.
      </p>
      {groups.length === 0 && <p>No helper is served.</p>}
      {groups.map(([group, helpers]) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`} class="group-name">
            {group}
          </h2>
          <ul class="cards">
            {helpers.map(({ id, declaration }) => (
              <li key={id} class="panel card">
                <a href={addressOf(id)}>{id}</a>
                <p>{declaration.summary}</p>
                <Needed files={declaration.files} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function Needed({ files }: { files: readonly FileField[] }) {
  const pictures = files.filter(({ kind }) => kind === 'image').length;
  const tags = [
    ['picture', pictures],
    ['file', files.length - pictures],
  ] as const;
  if (files.length === 0) return null;
  return (
    <p>
      {tags.map(
        ([what, count]) =>
          count > 0 && (
            <span key={what} class="tag">
              {count === 1 ? `takes a ${what}` : `takes ${count} ${what}s`}
            </span>
          ),
      )}
    </p>
  );
}

function groupsOf(registry: Registry): [string, Helper[]][] {
  const groups = new Map<string, Helper[]>();
  for (const helper of [...registry.values()].sort((one, other) => (one.id < other.id ? -1 : 1))) {
    const group = helper.id.replace(/\/.*/, '');
    groups.set(group, [...(groups.get(group) ?? []), helper]);
  }
  return [...groups];
}

function UnknownHelper({ name, registry }: { name: string; registry: Registry }) {
  const near = nearest(name, [...registry.keys()]);
  return (
    <section class="narrow">
      <h1>No such helper</h1>
      <p>
        <code>{name.slice(0, 100)}</code> is not served here.
      </p>
      {near !== undefined && (
        <p>
          Did you mean <a href={addressOf(near)}>{near}</a>?
        </p>
      )}
      <p>
        <a class="button" href="/">
          All helpers
        </a>
      </p>
    </section>
  );
}

/** The address of a helper's page; its slashes stay, as they may in a query. */
function addressOf(id: string): string {
  return `/?helper=${id}`;
}
