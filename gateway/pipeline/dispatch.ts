import type Router from '@koa/router';
import type { LiveRegistry } from '../helpers/live-registry.js';
import type { CallMiddleware, CallState } from './state.js';

/**
 * Hands a request to its route. The router tries its routes one after another: of each method and path that is served it is
 * asked once, until the helpers change. That holds for routes of whole paths, without parameters, and keeps as many entries as those.
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
    const found = route && pathAndMethod.at(-1)?.stack.at(-1);
    if (!found) return next();
    served.set(name, found as CallMiddleware);
    return (found as CallMiddleware)(ctx, next);
  };
}
