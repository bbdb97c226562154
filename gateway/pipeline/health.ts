import { jsonAnswer } from '../../pool/answer.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerReport } from '../../pool/task.js';
import { GatewayError } from '../errors.js';
import type { Phase } from '../http/server.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { CallContext, CallMiddleware } from './stage.js';

/** The data of `/readyz`. */
export type Readiness = NonNullable<ReturnType<ReturnType<typeof createReadiness>>>;

interface ReadinessParts {
  phase: () => Phase;
  isStarting?: () => boolean;
  engine: WorkerReport;
  keys: Pick<KeyVerifier, 'available'>;
  pool: Pick<Pool, 'stats' | 'missing' | 'slowed'>;
}

/** Reads the readiness; undefined once the gateway is to end. */
export function createReadiness(parts: ReadinessParts) {
  const { engine, keys, pool } = parts;
  return function readiness() {
    if (parts.phase() !== 'open') return undefined;
    if (parts.isStarting?.()) throw new GatewayError('busy', { message: 'The gateway is starting.' });
    // Public, unlike the loader's message, which names folders of this host.
    const engine_fallback = 'sharp cannot be loaded here; the log says why';
    return {
      engine: engine.engine,
      ...(engine.fallbackReason === undefined ? {} : { engine_fallback }),
      // Without the key database, only keys seen lately pass.
      keys: keys.available() ? 'available' : 'unavailable',
      threads: pool.stats().threads,
      missing: pool.missing(),
      slowed: pool.slowed(),
    };
  };
}

export function alive(): CallMiddleware {
  return async function alive(ctx) {
    ctx.state.result = jsonAnswer({ status: 'alive' });
  };
}

/** `GET /readyz` on both ports. A client for which `mayKnow` is false gets numbers in place of helpers' names. */
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
      const which = isNamed ? `the plugin ${missing.join(', ')}` : 'a plugin';
      const why = missing.length === 0 ? ' yet' : `: ${which} cannot be loaded in one`;
      throw new GatewayError('busy', { message: `No worker thread is ready${why}.` });
    }
    const plugins = isNamed ? Object.fromEntries(slowed.map((id) => [id, 'one_at_a_time'])) : slowed.length;
    ctx.state.result = jsonAnswer({
      status: 'ready',
      ...rest,
      ...(missing.length > 0 ? { missing: isNamed ? missing : missing.length } : {}),
      ...(slowed.length > 0 ? { plugins } : {}),
    });
  };
}
