import type { RouterContext } from '@koa/router';
import { GatewayError } from '../errors.js';
import type { Helper, Registry } from '../registry.js';
import type { CallState, Stage } from './state.js';

/** Paths of a helper: its own, and `/img/…` for `/media/…`, as the specification writes it sometimes. */
export function pathsOf(id: string): string[] {
  return id.startsWith('media/') ? [`/${id}`, `/img/${id.slice('media/'.length)}`] : [`/${id}`];
}

/** Notes whose call this is. */
export function route(helper: Helper): Stage {
  return async function route(ctx, next) {
    ctx.state.helper = helper;
    await next();
  };
}

/**
 * Answers what no route took: 405 with `Allow` where the path is served for other methods, OPTIONS with the same header,
 * else 404.
 */
export function refuse(registry: Registry): Stage {
  return async function refuse(ctx: RouterContext<CallState>) {
    const layers = ctx.matched ?? [];
    const allowed = [...new Set(layers.flatMap((layer) => layer.methods))].sort();
    if (allowed.length === 0) throw new GatewayError('not_found');
    const name = layers[0]?.name;
    const helper = name ? registry.get(name) : undefined;
    if (helper) ctx.state.helper = helper;
    const allow = [...allowed, 'OPTIONS'].join(', ');
    if (ctx.method !== 'OPTIONS') throw new GatewayError('method_not_allowed', { headers: { allow } });
    ctx.set('allow', allow);
    ctx.status = 204;
  };
}
