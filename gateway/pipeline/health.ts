import { jsonAnswer } from '../../pool/answer.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerReport } from '../../pool/task.js';
import { GatewayError } from '../errors.js';
import type { Phase } from '../http/server.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { CallContext, CallMiddleware } from './stage.js';

/** What `/readyz` tells. */
export interface Readiness {
  /** Which image engine works, and why not sharp where it is Jimp. */
  engine: string;
  engine_fallback?: string;
  /** `unavailable`: the key database does not answer; only keys seen lately pass. */
  keys: 'available' | 'unavailable';
  /** Worker threads that can run calls; these wait while there is none. */
  threads: number;
  /** Helpers that threads could not load: where none has loaded one before, its calls are refused. */
  missing: readonly string[];
  /** Helpers whose calls timed out again and again: one task of each runs at a time. */
  slowed: readonly string[];
}

/** What readiness is read off. */
export interface ReadinessParts {
  phase: () => Phase;
  /** Whether a part of the gateway does not serve yet; none by default. */
  isStarting?: () => boolean;
  engine: WorkerReport;
  keys: Pick<KeyVerifier, 'available'>;
  pool: Pick<Pool, 'stats' | 'missing' | 'slowed'>;
}

/** How ready the gateway is at the moment; undefined once it is to end. */
export function createReadiness({
  phase,
  isStarting,
  engine,
  keys,
  pool,
}: ReadinessParts): () => Readiness | undefined {
  return function readiness() {
    if (phase() !== 'open') return undefined;
    if (isStarting?.()) throw new GatewayError('busy', { message: 'The gateway is starting.' });
    return {
      engine: engine.engine,
      // Anybody may ask: the loader's own words, which name folders of this host, are for the log.
      ...(engine.fallbackReason === undefined
        ? {}
        : { engine_fallback: 'sharp cannot be loaded here; the log says why' }),
      keys: keys.available() ? 'available' : 'unavailable',
      threads: pool.stats().threads,
      missing: pool.missing(),
      slowed: pool.slowed(),
    };
  };
}

/** `GET /healthz`: the process is alive. */
export function alive(): CallMiddleware {
  return async function alive(ctx) {
    ctx.state.result = jsonAnswer({ status: 'alive' });
  };
}

/**
 * `GET /readyz`: the gateway may take traffic, on both ports; 503 `busy` while it starts or no thread is ready, `shutting_down` once it is to end. A client for which
 * `mayKnow` is false gets numbers in place of the helpers' names.
 */
export function ready(
  readiness: () => Readiness | undefined,
  mayKnow: (ctx: CallContext) => boolean | Promise<boolean> = () => true,
): CallMiddleware {
  return async function ready(ctx) {
    const state = readiness();
    if (!state) throw new GatewayError('shutting_down');
    const { missing, slowed, ...rest } = state;
    const isNamed = missing.length + slowed.length === 0 || (await mayKnow(ctx));
    if (state.threads === 0) {
      const why = whatIsMissing(missing, isNamed);
      throw new GatewayError('busy', { message: `No worker thread is ready${why}.` });
    }
    ctx.state.result = jsonAnswer({
      status: 'ready',
      ...rest,
      ...(missing.length > 0 ? { missing: isNamed ? missing : missing.length } : {}),
      ...(slowed.length > 0
        ? {
            plugins: isNamed ? Object.fromEntries(slowed.map((id) => [id, 'one_at_a_time'])) : slowed.length,
          }
        : {}),
    });
  };
}

/** Names helpers, not files: anybody may ask. */
function whatIsMissing(missing: readonly string[], isNamed: boolean): string {
  if (missing.length === 0) return ' yet';
  return `: ${isNamed ? `the plugin ${missing.join(', ')}` : 'a plugin'} cannot be loaded in one`;
}

/** Refuses calls that still come, on connections that are open, when the gateway has stopped to take any. */
export function refuseWhenClosing(phase: () => Phase): CallMiddleware {
  return function refuseWhenClosing(ctx, next) {
    if (phase() === 'closing' && ctx.path !== '/healthz') throw new GatewayError('shutting_down');
    return next();
  };
}
