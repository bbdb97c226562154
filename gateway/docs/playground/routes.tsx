import { nearest } from '../../../schemas/nearest.js';
import type { LiveRegistry } from '../../helpers/live-registry.js';
import { makeAsset, sendAsset } from '../../http/assets.js';
import type { CallContext } from '../../pipeline/state.js';
import type { DocRoute } from '../doc-route.js';
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
  /** Where the API is reached, if that is not where the page was. */
  apiUrl?: string | undefined;
  /** Where keys are had, for a visitor who reached this gateway under this host name; undefined where they cannot get there. */
  keySite: (hostname: string) => string | undefined;
  /** What is wrong with plugins as their files are now; none by default. */
  problems?: () => readonly PluginProblem[];
  /** Whether helpers are being written: pages that are open then follow their changes. */
  live?: boolean;
}

/** `GET /`: all helpers, or the page of one (`?helper=text/shout`), and the files that these pages bring along. */
export function createPlayground(options: PlaygroundOptions): DocRoute[] {
  const { registry, limits, apiUrl, keySite, problems = () => [], live = false } = options;
  const assets = loadAssets();

  function answerPage(ctx: CallContext): Promise<void> | void {
    const frame = { assets, problems: problems(), live, keySite: keySite(ctx.hostname) };
    const name = new URLSearchParams(ctx.querystring).get('helper');
    const helper = name === null ? undefined : registry.get(name);
    protect(ctx);
    if (name === null) {
      const page = <HelperList registry={registry} keySite={frame.keySite} />;
      return send(ctx, renderDocument({ ...frame, title: 'Helpers' }, page));
    }
    if (helper !== undefined) {
      const origin = apiUrl ?? `${ctx.protocol}://${ctx.host}`;
      const { keySite } = frame;
      const page = <HelperPage {...{ helper, assets, limits, keySite, origin }} />;
      return send(ctx, renderDocument({ ...frame, title: helper.id }, page));
    }
    const page = <UnknownHelper name={name} near={nearest(name, [...registry.keys()])} />;
    ctx.status = 404;
    ctx.type = type;
    ctx.body = renderDocument({ ...frame, title: 'No such helper' }, page);
  }

  return [{ path: '/', methods: ['GET'], handle: answerPage }, ...assets.routes];
}

/** Asked for again each time: a helper may be another one by then. */
function send(ctx: CallContext, html: string): Promise<void> {
  return sendAsset(ctx, makeAsset(Buffer.from(html), type), 'no-cache');
}
