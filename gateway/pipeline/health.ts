import { jsonAnswer } from '../../pool/answer.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerReport } from '../../pool/task.js';
import { GatewayError } from '../errors.js';
import type { Phase } from '../http/server.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { CallContext, CallMiddleware } from './stage.js';

/** The data of `/readyz`. */
export interface Readiness {
  /** The image engine, and why not sharp where it is Jimp. */
  engine: string;
  engine_fallback?: string;
  /** `unavailable`: the key database does not answer; only keys seen lately pass. */
  keys: 'available' | 'unavailable';
  threads: number;
  /** Helpers that a thread could not load. */
  missing: readonly string[];
  /** Helpers that timed out again and again: one task of each runs at a time. */
  slowed: readonly string[];
}

interface ReadinessParts {
  phase: () => Phase;
  /** Whether a part of the gateway does not serve yet. */
  isStarting?: () => boolean;
  engine: WorkerReport;
  keys: Pick<KeyVerifier, 'available'>;
  pool: Pick<Pool, 'stats' | 'missing' | 'slowed'>;
}

/** Reads the readiness; undefined once the gateway is to end. */
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
      // Public, unlike the loader's message, which names folders of this host.
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
 * `GET /readyz` on both ports: 503 `busy` while the gateway starts or no thread is ready, `shutting_down` once it is to end. A client for
 * which `mayKnow` is false gets numbers in place of helpers' names.
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
      const why = missingPlugins(missing, isNamed);
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

function missingPlugins(missing: readonly string[], isNamed: boolean): string {
  if (missing.length === 0) return ' yet';
  return `: ${isNamed ? `the plugin ${missing.join(', ')}` : 'a plugin'} cannot be loaded in one`;
}
