import type { Logger } from 'pino';
import { followRequest, loggedMs, type RequestOutcome } from '../http/request.js';
import type { Metrics } from '../observability/metrics.js';
import type { Tracing } from '../observability/tracing.js';
import type { UsageMeter } from '../usage/meter.js';
import { type CallMiddleware, CallState } from './stage.js';

/** Not traced: balancers ask every few seconds. */
const probes = new Set(['/healthz', '/readyz']);

export interface Observers {
  logger: Logger;
  metrics: Pick<Metrics, 'observe'>;
  usage: Pick<UsageMeter, 'record'>;
  tracing?: Tracing | undefined;
}

/** Gives the call its id, aborts it when the client goes away, and records log, metrics and usage when the answer is out. */
export function observe(observers: Observers): CallMiddleware {
  const { tracing } = observers;
  return async function observe(ctx, next) {
    let works = true;
    let onWorked: (() => void) | undefined;
    const requestId = followRequest(ctx, (outcome) => {
      if (!outcome.answered) ctx.state.abort();
      const bytesOut = outcome.answered && ctx.method !== 'HEAD' ? (ctx.response.length ?? 0) : 0;
      const code = ctx.state.code ?? (outcome.answered ? 'ok' : 'gone');
      const end = () => record(observers, ctx.state, { ...outcome, code, bytesOut });
      // What a call has cost is known when its work has ended, which may be after its client has gone.
      if (works) onWorked = end;
      else end();
      endTrace(ctx.state, outcome);
      log(observers.logger, ctx.state, outcome, { method: ctx.method, path: loggedPath(ctx.path) });
    });
    ctx.state = new CallState(requestId);
    if (tracing && !probes.has(ctx.path)) ctx.state.trace = tracing.request(ctx.req.headers, ctx.method);
    try {
      await next();
    } finally {
      works = false;
      onWorked?.();
    }
  };
}

function record(
  { metrics, usage }: Observers,
  { helper, caller, taskMs, bytesIn, requestId, dryrun, cameTo }: CallState,
  { status, ms, answered, code, bytesOut }: RequestOutcome & { code: string; bytesOut: number },
) {
  metrics.observe({ service: helper?.id ?? null, code, seconds: ms / 1000, taskMs });
  if (!helper || !caller) return;
  usage.record({
    tenant: caller.tenant.id,
    key: caller.keyId,
    service: helper.id,
    status: answered ? (cameTo ?? status) : status,
    ...{ code, ms, requestId, dryrun },
    bytesIn,
    bytesOut,
    cpuMs: taskMs,
  });
}

/** The span has what the log has, except the path, which may be anything, and the key. */
function endTrace(state: CallState, { status, answered }: RequestOutcome): void {
  const { trace, helper, caller } = state;
  if (!trace) return;
  if (helper) trace.route = `/${helper.id}`;
  trace.end({
    code: state.code ?? (answered ? undefined : 'gone'),
    isFault: status >= 500,
    attributes: {
      'http.response.status_code': status,
      'helper_gateway.request_id': state.requestId,
      'helper_gateway.service': helper?.id,
      'helper_gateway.tenant': caller?.tenant.id,
      'helper_gateway.dryrun': state.dryrun || undefined,
      'helper_gateway.bytes_in': state.bytesIn,
      'helper_gateway.task_ms': state.taskMs,
    },
  });
}

/** A query whose `?` got lost or encoded on its way is part of the path: its secrets stay out of the log. */
const loggedPath = (path: string) =>
  path.replace(/(?<=\b|%3F|%26)(ak|sig)(=|%3D).*?(?=&|%26|$)/gi, '$1$2…').slice(0, 200);

/** Logs the path without its query, which holds the API key and the customer's data. */
function log(
  logger: Logger,
  { requestId, trace, helper, caller, code, dryrun, fault }: CallState,
  { status, ms }: RequestOutcome,
  request: { method: string; path: string },
): void {
  const line = {
    request_id: requestId,
    trace_id: trace?.id,
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
