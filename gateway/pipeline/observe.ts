import type { Logger } from 'pino';
import { Ending } from '../http/ending.js';
import { followRequest, loggedMs, type Outcome } from '../http/follow-request.js';
import type { Metrics } from '../metrics.js';
import type { UsageMeter } from '../usage/meter.js';
import { type CallMiddleware, type CallState, newCallState } from './state.js';

export interface Observers {
  logger: Logger;
  metrics: Pick<Metrics, 'observe'>;
  usage: Pick<UsageMeter, 'record'>;
}

/** Gives the call its id, watches for the client going away, and tells log, metrics and usage when the answer is out. */
export function observe(observers: Observers): CallMiddleware {
  return function observe(ctx, next) {
    const gone = new Ending();
    const requestId = followRequest(ctx, (outcome) => {
      if (!outcome.answered) gone.end();
      const bytesOut = outcome.answered && ctx.method !== 'HEAD' ? (ctx.response.length ?? 0) : 0;
      record(observers, ctx.state, { ...outcome, bytesOut });
      log(observers.logger, ctx.state, outcome, { method: ctx.method, path: ctx.path.slice(0, 200) });
    });
    ctx.state = newCallState(requestId, gone);
    return next();
  };
}

function record(
  { metrics, usage }: Observers,
  state: CallState,
  { status, ms, answered, bytesOut }: Outcome & { bytesOut: number },
): void {
  const { helper, caller, taskMs, bytesIn } = state;
  const code = state.code ?? (answered ? 'ok' : 'gone');
  metrics.observe({ service: helper?.id ?? null, code, seconds: ms / 1000, taskMs });
  if (!helper || !caller) return;
  usage.record({
    tenant: caller.tenant.id,
    key: caller.keyId,
    service: helper.id,
    status: answered ? (state.cameTo ?? status) : status,
    bytesIn,
    bytesOut,
    cpuMs: taskMs,
  });
}

/** The line names the path without its query: the query holds the API key and the customer's data. */
function log(
  logger: Logger,
  { requestId, helper, caller, code, dryrun, fault }: CallState,
  { status, ms }: Outcome,
  request: { method: string; path: string },
): void {
  const line = {
    request_id: requestId,
    ...request,
    service: helper?.id,
    status,
    code,
    tenant: caller?.tenant.name,
    key: caller?.keyId,
    dryrun: dryrun || undefined,
    ms: loggedMs(ms),
    err: fault,
  };
  if (fault !== undefined) logger.error(line, 'call failed');
  else logger.info(line, 'call');
}
