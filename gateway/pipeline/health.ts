import { GatewayError } from '../errors.js';
import type { Stage } from './state.js';

/** What `/readyz` tells. */
export interface Readiness {
  /** Which image engine works, and why not sharp where it is Jimp. */
  engine: string;
  engine_fallback?: string;
  /** `unavailable`: the key database does not answer; only keys seen lately pass. */
  keys: 'available' | 'unavailable';
}

/** `GET /healthz`: the process is alive. */
export function alive(): Stage {
  return async function alive(ctx) {
    ctx.state.result = { status: 'alive' };
  };
}

/** `GET /readyz`: the gateway may take traffic; 503 `shutting_down` once it may not. */
export function ready(readiness: () => Readiness | undefined): Stage {
  return async function ready(ctx) {
    const state = readiness();
    if (!state) throw new GatewayError('shutting_down');
    ctx.state.result = { status: 'ready', ...state };
  };
}

/** Refuses calls on connections that were open when the gateway began to shut down, and closes these as they are answered. */
export function drain(readiness: () => Readiness | undefined): Stage {
  return async function drain(ctx, next) {
    if (readiness()) {
      try {
        return await next();
      } finally {
        if (!readiness() && !ctx.headerSent) ctx.set('connection', 'close');
      }
    }
    ctx.set('connection', 'close');
    if (ctx.path === '/healthz') return next();
    throw new GatewayError('shutting_down');
  };
}
