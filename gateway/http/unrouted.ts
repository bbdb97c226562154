import type { RouterContext } from '@koa/router';
import { nearest } from '../../schemas/nearest.js';
import { errorTable, GatewayError } from '../errors.js';

/** Answers OPTIONS with `Allow`, else throws `method_not_allowed` or `not_found`, with the nearest of `paths`. */
export function answerUnrouted(
  ctx: Pick<RouterContext, 'matched' | 'method' | 'path' | 'set' | 'status'>,
  paths: readonly string[] = [],
): void {
  const methods = [...new Set((ctx.matched ?? []).flatMap((layer) => layer.methods))].sort();
  if (methods.length === 0) {
    const hint = pathHint(ctx.path, paths);
    throw new GatewayError('not_found', hint ? { message: `${errorTable.not_found.message} ${hint}` } : {});
  }
  const allow = [...methods, 'OPTIONS'].join(', ');
  if (ctx.method !== 'OPTIONS') {
    const message = `This path takes ${methods.join(', ')} and OPTIONS, not ${ctx.method}.`;
    throw new GatewayError('method_not_allowed', { message, headers: { allow } });
  }
  ctx.set('allow', allow);
  ctx.status = 204;
}

function pathHint(path: string, paths: readonly string[]): string | undefined {
  const bare = path.replace(/\/+$/, '');
  if (bare !== path && paths.includes(bare)) {
    return `Did you mean ${bare}? No path here has a slash at its end.`;
  }
  // Without the slash that all begin with, which would make them alike.
  const tails = paths.map((each) => each.slice(1));
  const found = nearest(bare.slice(1), tails);
  return found === undefined ? undefined : `Did you mean /${found}?`;
}
