import type { RouterContext } from '@koa/router';
import { errorTable, GatewayError } from '../errors.js';
import { pathHint } from './nearest-path.js';

/**
 * Answers what no route took: OPTIONS with `Allow` where the path is served for other methods, else throws
 * `method_not_allowed` with the same header, or `not_found` where it is not served at all; that names the one of `paths` that
 * is near, if any.
 */
export function answerUnrouted(
  ctx: Pick<RouterContext, 'matched' | 'method' | 'path' | 'set' | 'status'>,
  paths: readonly string[] = [],
): void {
  const methods = [...new Set((ctx.matched ?? []).flatMap((layer) => layer.methods))].sort();
  if (methods.length === 0) {
    const hint = pathHint(ctx.path, paths);
    throw new GatewayError('not_found', hint ? { message: `${errorTable.not_found.message} ${hint}` } : {});
  }
  const allowed = [...methods, 'OPTIONS'];
  const allow = allowed.join(', ');
  if (ctx.method !== 'OPTIONS') {
    const message = `This path takes ${allowed.slice(0, -1).join(', ')} and OPTIONS, not ${ctx.method}.`;
    throw new GatewayError('method_not_allowed', { message, headers: { allow } });
  }
  ctx.set('allow', allow);
  ctx.status = 204;
}
