import type { RouterContext } from '@koa/router';
import type { Answer } from '../../pool/answer.js';
import { GatewayError } from '../errors.js';
import { announcedBytes } from '../http/body.js';
import type { Phase } from '../http/server.js';
import { answerUnrouted } from '../http/unrouted.js';
import { scopeAllows } from '../keys/model.js';
import type { KeyVerifier } from '../keys/verifier.js';
import { pathsOf } from '../plugins/paths.js';
import type { Helper, Registry } from '../plugins/registry.js';
import { callerIfAny } from './authenticate.js';
import type { CallMiddleware, CallState, HttpCall } from './stage.js';

/** Refuses calls that still come on open connections once the gateway is closing. */
export function refuseWhenClosing(phase: () => Phase): CallMiddleware {
  return function refuseWhenClosing(ctx, next) {
    if (phase() === 'closing' && ctx.path !== '/healthz') throw new GatewayError('shutting_down');
    return next();
  };
}

/** Answers calls, of this helper where it is known before the caller is. */
export function route(answer: (call: HttpCall) => Promise<Answer>, helper?: Helper): CallMiddleware {
  return async function route(ctx) {
    const { state } = ctx;
    if (helper) state.helper = helper;
    const bodyBytes = ctx.method === 'POST' ? announcedBytes(ctx.req.headers) : 0;
    state.result = await answer({ ctx, state, bodyBytes });
  };
}

function servedPaths(ids: readonly string[], others: readonly { path: string }[]): string[] {
  const [own, aliases] = [ids.map((id) => `/${id}`), ids.flatMap(pathsOf)];
  return [...new Set([...own, ...aliases, ...others.map(({ path }) => path), '/healthz', '/readyz'])];
}

interface UnroutedOptions {
  others: readonly { path: string }[];
  /** Whether everybody may know the helpers; else a path is suggested only to a key that may call it. */
  isPublic: boolean;
  keys: Pick<KeyVerifier, 'verify'>;
}

/** Answers requests that no route handled; the answer names the path's helper. */
export function unrouted(registry: Registry, { others, isPublic, keys }: UnroutedOptions): CallMiddleware {
  const paths = servedPaths([...registry.keys()], others);

  async function knownPaths(ctx: RouterContext<CallState>): Promise<readonly string[]> {
    if (isPublic) return paths;
    const caller = await callerIfAny(ctx, keys);
    if (!caller) return [];
    const allowed = [...registry.keys()].filter((id) => scopeAllows(caller.scopes, id));
    return servedPaths(allowed, others);
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

/** A link, a prefetch or a crawler must change nothing, and a signed url is a link. */
function onlyPost(id: string): GatewayError {
  const message = `${id} changes something elsewhere, so it takes POST alone, with a key: neither GET and HEAD nor a signed url.`;
  return new GatewayError('method_not_allowed', { message, headers: { allow: 'POST, OPTIONS' } });
}
