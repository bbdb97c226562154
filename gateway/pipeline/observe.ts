import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import type { Stage } from './state.js';

/**
 * Gives the call its id, watches for the client going away and writes one log line when the answer is out. The line
 * names the path without its query: the query holds the API key and the customer's data.
 */
export function observe(logger: Logger): Stage {
  return async function observe(ctx, next) {
    const start = performance.now();
    const requestId = randomUUID();
    const gone = new AbortController();
    Object.assign(ctx.state, { requestId, gone: gone.signal, dryrun: false, taskMs: 0 });
    ctx.set('x-request-id', requestId);
    ctx.res.once('close', () => {
      if (!ctx.res.writableFinished) gone.abort();
      const { helper, tenant, keyId, code, fault, dryrun } = ctx.state;
      const line = {
        request_id: requestId,
        method: ctx.method,
        path: ctx.path.slice(0, 200),
        service: helper?.id,
        status: ctx.res.writableFinished ? ctx.status : 499,
        code,
        tenant: tenant?.name,
        key: keyId,
        dryrun: dryrun || undefined,
        ms: Math.round((performance.now() - start) * 10) / 10,
        err: fault,
      };
      if (ctx.status >= 500) logger.error(line, 'call failed');
      else logger.info(line, 'call');
    });
    await next();
  };
}
