import { GatewayError } from '../errors.js';
import type { Phase } from '../lifecycle.js';
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

/** `GET /readyz`: the gateway may take traffic; 503 `shutting_down` once it is to end. */
export function ready(readiness: () => Readiness | undefined): Stage {
  return async function ready(ctx) {
    const state = readiness();
    if (!state) throw new GatewayError('shutting_down');
    ctx.state.result = { status: 'ready', ...state };
  };
}

/** Refuses calls that still come, on connections that are open, when the gateway has stopped to take any. */
export function refuseWhenClosing(phase: () => Phase): Stage {
  return async function refuseWhenClosing(ctx, next) {
    if (phase() === 'closing' && ctx.path !== '/healthz') throw new GatewayError('shutting_down');
    return next();
  };
}
