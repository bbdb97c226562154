import type { RouterContext } from '@koa/router';
import { answerUnrouted } from '../answer-unrouted.js';
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

/** Answers what no route took; whose helper it would have been stands in the answer. */
export function refuse(registry: Registry): Stage {
  return async function refuse(ctx: RouterContext<CallState>) {
    const name = ctx.matched?.[0]?.name;
    const helper = name ? registry.get(name) : undefined;
    if (helper) ctx.state.helper = helper;
    answerUnrouted(ctx);
  };
}
