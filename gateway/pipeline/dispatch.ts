import type Router from '@koa/router';
import type { LiveRegistry } from '../helpers/live-registry.js';
import type { CallMiddleware, CallState } from './state.js';

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
