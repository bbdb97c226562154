import type { RouterContext } from '@koa/router';
import { GatewayError } from './errors.js';

/**
 * Answers what no route took: OPTIONS with `Allow` where the path is served for other methods, else throws
 * `method_not_allowed` with the same header, or `not_found` where it is not served at all.
 */
export function answerUnrouted(ctx: Pick<RouterContext, 'matched' | 'method' | 'set' | 'status'>): void {
  const allowed = [...new Set((ctx.matched ?? []).flatMap((layer) => layer.methods))].sort();
  if (allowed.length === 0) throw new GatewayError('not_found');
  const allow = [...allowed, 'OPTIONS'].join(', ');
  if (ctx.method !== 'OPTIONS') throw new GatewayError('method_not_allowed', { headers: { allow } });
  ctx.set('allow', allow);
  ctx.status = 204;
}
