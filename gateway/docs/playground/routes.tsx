import type { ComponentChild } from 'preact';
import { nearest } from '../../../schemas/nearest.js';
import type { LiveRegistry } from '../../helpers/live-registry.js';
import type { Helper } from '../../helpers/registry.js';
import { type Asset, makeAsset, sendAsset } from '../../http/assets.js';
import { isOwnHost } from '../../http/loopback.js';
import type { CallContext } from '../../pipeline/state.js';
import type { DocRoute } from '../doc-route.js';
import { keepUntilChange } from '../keep-until-change.js';
import { protect } from '../protect.js';
import { loadAssets } from './assets.js';
import type { PluginProblem, ShownLimits } from './page.js';
import { renderDocument } from './pages/document.js';
import { HelperPage } from './pages/helper.js';
import { HelperList } from './pages/index.js';
import { UnknownHelper } from './pages/unknown.js';

const type = 'text/html; charset=utf-8';

export interface PlaygroundOptions {
  registry: LiveRegistry;
  limits: ShownLimits;
  /** Where the API is reached, where that is known. */
  apiUrl?: string | undefined;
  /**
   * Where keys are had, for a visitor who reached this gateway under this host name; undefined where they cannot get there. Always
   * one of two: a page is kept for each.
   */
  keySite: (hostname: string) => string | undefined;
  /**
   * What is wrong with plugins as their files are now, which changes with the helpers; none by default. It names files, and is shown only
   * to who asks for a host of this machine, or for `apiUrl`.
   */
  problems?: () => readonly PluginProblem[];
  /** Whether helpers are being written: pages that are open then follow their changes. */
  live?: boolean;
}

/** `GET /`: all helpers, or the page of one (`?helper=text/shout`), and the files that these pages bring along. */
export function createPlayground(options: PlaygroundOptions): DocRoute[] {
  const { registry, limits, apiUrl, keySite, problems = () => [], live = false } = options;
  const assets = loadAssets();
  const keep = keepUntilChange<Asset>(registry, () => 4 * (registry.size + 1));

  function answerPage(ctx: CallContext): Promise<void> | void {
    const site = keySite(ctx.hostname);
    const seen = isOwnHost(ctx.get('host'), apiUrl) ? problems() : [];
    const name = new URLSearchParams(ctx.querystring).get('helper');
    const helper = name === null ? undefined : registry.get(name);
    protect(ctx);
    if (name !== null && helper === undefined) return answerUnknown(ctx, name, seen);
    // Nothing else of a request is in a page, or the page could not be kept for the next: not its Host, not the rest of its query.
    const page = keep(`${helper?.id ?? ''} ${seen.length} ${site ?? ''}`, () =>
      makeAsset(Buffer.from(helper ? helperPage(helper, site, seen) : listPage(site, seen)), type),
    );
    // Asked for again each time: a helper may be another one by then.
    return sendAsset(ctx, page, 'no-cache');
  }

  function listPage(site: string | undefined, seen: readonly PluginProblem[]): string {
    return inFrame('Helpers', <HelperList registry={registry} keySite={site} />, seen);
  }

  function helperPage(helper: Helper, site: string | undefined, seen: readonly PluginProblem[]): string {
    return inFrame(helper.id, <HelperPage {...{ helper, assets, limits, keySite: site, apiUrl }} />, seen);
  }

  function answerUnknown(ctx: CallContext, name: string, seen: readonly PluginProblem[]): void {
    const page = <UnknownHelper name={name} near={nearest(name, [...registry.keys()])} />;
    ctx.status = 404;
    ctx.type = type;
    ctx.body = inFrame('No such helper', page, seen);
  }

  function inFrame(title: string, page: ComponentChild, seen: readonly PluginProblem[]): string {
    return renderDocument({ assets, live, problems: seen, title }, page);
  }

  return [{ path: '/', methods: ['GET'], handle: answerPage }, ...assets.routes];
}
