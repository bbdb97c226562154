import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import type { Metrics } from '../observe/metrics.js';
import type { UsageMeter } from '../usage/meter.js';
import type { CallState, Stage } from './state.js';

export interface Observers {
  logger: Logger;
  metrics: Pick<Metrics, 'observe'>;
  usage: Pick<UsageMeter, 'record'>;
}

/** What an answer was to whoever waited for it; 499, as nginx has it, where nobody did any more. */
interface Outcome {
  status: number;
  ms: number;
  bytesOut: number;
}

/** Gives the call its id, watches for the client going away, and tells log, metrics and usage when the answer is out. */
export function observe(observers: Observers): Stage {
  return async function observe(ctx, next) {
    const start = performance.now();
    const requestId = randomUUID();
    const gone = new AbortController();
    Object.assign(ctx.state, { requestId, gone: gone.signal, dryrun: false, taskMs: 0, bytesIn: 0 });
    ctx.set('x-request-id', requestId);
    ctx.res.once('close', () => {
      const answered = ctx.res.writableFinished;
      if (!answered) gone.abort();
      const outcome = {
        status: answered ? ctx.status : 499,
        ms: performance.now() - start,
        bytesOut: answered && ctx.method !== 'HEAD' ? (ctx.response.length ?? 0) : 0,
      };
      record(observers, ctx.state, outcome);
      log(observers.logger, ctx.state, outcome, { method: ctx.method, path: ctx.path.slice(0, 200) });
    });
    await next();
  };
}

function record({ metrics, usage }: Observers, state: CallState, { status, ms, bytesOut }: Outcome): void {
  const { helper, tenant, keyId, taskMs, bytesIn } = state;
  const code = state.code ?? (status === 499 ? 'gone' : 'ok');
  metrics.observe({ service: helper?.id ?? null, code, seconds: ms / 1000, taskMs });
  if (!helper || !tenant || !keyId) return;
  usage.record({
    tenant: tenant.id,
    key: keyId,
    service: helper.id,
    status,
    bytesIn,
    bytesOut,
    cpuMs: taskMs,
  });
}

/** The line names the path without its query: the query holds the API key and the customer's data. */
function log(
  logger: Logger,
  { requestId, helper, tenant, keyId, code, dryrun, fault }: CallState,
  { status, ms }: Outcome,
  request: { method: string; path: string },
): void {
  const line = {
    request_id: requestId,
    ...request,
    service: helper?.id,
    status,
    code,
    tenant: tenant?.name,
    key: keyId,
    dryrun: dryrun || undefined,
    ms: Math.round(ms * 10) / 10,
    err: fault,
  };
  if (fault !== undefined) logger.error(line, 'call failed');
  else logger.info(line, 'call');
}
