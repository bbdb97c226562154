import type Router from '@koa/router';
import type { RouterContext } from '@koa/router';
import type { Answer } from '../../pool/answer.js';
import { GatewayError } from '../errors.js';
import { announcedBytes } from '../http/body.js';
import { answerUnrouted } from '../http/unrouted.js';
import { scopeAllows } from '../keys/model.js';
import type { KeyVerifier } from '../keys/verifier.js';
import { pathsOf } from '../plugins/paths.js';
import type { Helper, LiveRegistry } from '../plugins/registry.js';
import { holdVersion } from './admit.js';
import { callerIfAny } from './authenticate.js';
import type { CallMiddleware, CallState, HttpCall } from './stage.js';

/** Has the requests of a helper's paths answered by its stages. */
export function route(helper: Helper, answer: (call: HttpCall) => Promise<Answer>): CallMiddleware {
  return async function route(ctx) {
    const { state } = ctx;
    state.helper = helper;
    const bodyBytes = ctx.method === 'POST' ? announcedBytes(ctx.req.headers) : 0;
    state.result = await holdVersion(helper, () => answer({ ctx, state, bodyBytes }));
  };
}

/** Every path that is served, those before aliases that say the helper's id. */
function servedPaths(ids: readonly string[], others: readonly { path: string }[]): string[] {
  const [own, aliases] = [ids.map((id) => `/${id}`), ids.flatMap(pathsOf)];
  return [...new Set([...own, ...aliases, ...others.map(({ path }) => path), '/healthz', '/readyz'])];
}

interface UnroutedOptions {
  /** Paths beside the helpers'. */
  others: readonly { path: string }[];
  /** Whether everybody may know which helpers there are; else it takes a key, and a path is suggested only if the key opens it. */
  isPublic: boolean;
  keys: Pick<KeyVerifier, 'verify'>;
}

/** Answers what no route took; whose helper it would have been stands in the answer. */
export function unrouted(
  registry: LiveRegistry,
  { others, isPublic, keys }: UnroutedOptions,
): CallMiddleware {
  let paths = servedPaths([...registry.keys()], others);
  registry.watch(() => {
    paths = servedPaths([...registry.keys()], others);
  });

  async function knownPaths(ctx: RouterContext<CallState>): Promise<readonly string[]> {
    if (isPublic) return paths;
    const caller = await callerIfAny(ctx, keys);
    if (!caller) return [];
    return servedPaths(
      [...registry.keys()].filter((id) => scopeAllows(caller.scopes, id)),
      others,
    );
  }

  return async function unrouted(ctx: RouterContext<CallState>) {
    const name = ctx.matched?.[0]?.name;
    const helper = name ? registry.get(name) : undefined;
    if (helper) ctx.state.helper = helper;
    if (helper?.declaration.effects && (ctx.method === 'GET' || ctx.method === 'HEAD'))
      throw onlyPost(helper.id);
    answerUnrouted(ctx, ctx.matched?.length ? [] : await knownPaths(ctx));
  };
}

/** A link, a prefetch or a crawler must not change anything, and a signed url is a link. */
function onlyPost(id: string): GatewayError {
  const message = `${id} changes something elsewhere, so it takes POST alone, with a key: neither GET and HEAD nor a signed url.`;
  return new GatewayError('method_not_allowed', { message, headers: { allow: 'POST, OPTIONS' } });
}

/**
 * Hands a request to its route. The router tries its routes one after another: of each method and path that is served it is
 * asked once, until the helpers change. That holds for routes of whole paths and keeps as many entries as those; of what has
 * parameters in it there is no end.
 */
export function dispatch(
  registry: Pick<LiveRegistry, 'watch'>,
  createRouter: () => Router<CallState>,
): CallMiddleware {
  const served = new Map<string, CallMiddleware>();
  let router = createRouter();
  registry.watch(() => {
    router = createRouter();
    served.clear();
  });
  return function dispatch(ctx, next) {
    const name = `${ctx.method} ${ctx.path}`;
    const known = served.get(name);
    if (known) return known(ctx, next);
    const { path, pathAndMethod, route } = router.match(ctx.path, ctx.method);
    ctx.matched = path;
    const layer = route ? pathAndMethod.at(-1) : undefined;
    const found = layer?.stack.at(-1);
    if (!layer || !found) return next();
    if (layer.paramNames.length > 0) ctx.params = layer.params(ctx.path, layer.captures(ctx.path));
    else served.set(name, found as CallMiddleware);
    return (found as CallMiddleware)(ctx, next);
  };
}
