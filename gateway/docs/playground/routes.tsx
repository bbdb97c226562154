import type { ComponentChild } from 'preact';
import type { FileField } from '../../../schemas/declared-helper.js';
import { nearest } from '../../../schemas/nearest.js';
import { type Asset, makeAsset, sendAsset } from '../../http/assets.js';
import { isOwnHost } from '../../http/request.js';
import type { CallContext } from '../../pipeline/stage.js';
import type { Helper, Registry } from '../../plugins/registry.js';
import { cacheDocs, type DocRoute, protect } from '../doc-route.js';
import { HelperPage } from './helper-page.js';
import {
  KeySource,
  type PluginProblem,
  playgroundAssets,
  renderDocument,
  type ShownLimits,
} from './layout.js';

const htmlType = 'text/html; charset=utf-8';

export interface PlaygroundOptions {
  registry: Registry;
  limits: ShownLimits;
  /** Where the API is reached, where that is known. */
  apiUrl?: string | undefined;
  /**
   * Where a visitor who used this host name gets keys; undefined where they cannot get there. Always one of two: a page is cached
   * for each.
   */
  keySite: (hostname: string) => string | undefined;
  /**
   * Faults of the plugins' files, which come with a change that is not served; none by default. They name files, and are shown only for a host of
   * this machine, or `apiUrl`.
   */
  problems?: () => readonly PluginProblem[];
  /** Whether helpers are being written: pages that are open then follow their changes. */
  live?: boolean;
}

/** `GET /`: all helpers, or the page of one (`?helper=text/shout`), and the files of these pages. */
export function createPlayground(options: PlaygroundOptions): DocRoute[] {
  const { registry, limits, apiUrl, keySite, problems = () => [], live = false } = options;
  const assets = playgroundAssets();
  const cached = cacheDocs<Asset>(4 * (registry.size + 1));

  function answerPage(ctx: CallContext): Promise<void> | void {
    const site = keySite(ctx.hostname);
    const shown = isOwnHost(ctx.get('host'), apiUrl) ? problems() : [];
    const name = new URLSearchParams(ctx.querystring).get('helper');
    const helper = name === null ? undefined : registry.get(name);
    const write = (title: string, page: ComponentChild) =>
      renderDocument({ assets, live, problems: shown, title }, page);
    protect(ctx);
    if (name !== null && helper === undefined) {
      const near = nearest(name, [...registry.keys()]);
      ctx.status = 404;
      ctx.type = htmlType;
      ctx.body = write('No such helper', <UnknownHelper name={name} near={near} />);
      return;
    }
    // Nothing else of a request is in a page, because it is cached: neither its Host nor the rest of its query.
    const page = cached(`${helper?.id ?? ''} ${JSON.stringify(shown)} ${site ?? ''}`, () => {
      const html = helper
        ? write(helper.id, <HelperPage {...{ helper, assets, limits, keySite: site, apiUrl }} />)
        : write('Helpers', <HelperList registry={registry} keySite={site} />);
      return makeAsset(Buffer.from(html), htmlType);
    });
    // Validated each time: a helper may have changed by then.
    return sendAsset(ctx, page, 'no-cache');
  }

  return [{ path: '/', methods: ['GET'], handle: answerPage }, ...assets.routes];
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
              <li key={id} class="card">
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
  const others = files.length - pictures;
  const tags = [
    ...(pictures > 0 ? [pictures === 1 ? 'takes a picture' : `takes ${pictures} pictures`] : []),
    ...(others > 0 ? [others === 1 ? 'takes a file' : `takes ${others} files`] : []),
  ];
  if (tags.length === 0) return null;
  return (
    <p>
      {tags.map((tag) => (
        <span key={tag} class="tag">
          {tag}
        </span>
      ))}
    </p>
  );
}

function groupsOf(registry: Registry): [string, Helper[]][] {
  const groups = new Map<string, Helper[]>();
  for (const helper of [...registry.values()].sort((one, other) => (one.id < other.id ? -1 : 1))) {
    const group = helper.id.slice(0, helper.id.includes('/') ? helper.id.indexOf('/') : undefined);
    groups.set(group, [...(groups.get(group) ?? []), helper]);
  }
  return [...groups];
}

function UnknownHelper({ name, near }: { name: string; near: string | undefined }) {
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
