import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import type { SiteStage } from './state.js';

/**
 * Gives the request its id and writes one log line when the answer is out. The line names the route's pattern and not the
 * path: a path may hold an invitation's token.
 */
export function observe(logger: Logger): SiteStage {
  return async function observe(ctx, next) {
    const start = performance.now();
    const requestId = randomUUID();
    const answers = /^\/(api|metrics)(\/|$)/.test(ctx.path) ? 'json' : 'pages';
    Object.assign(ctx.state, { requestId, answers, formToken: '' });
    ctx.set('x-request-id', requestId);
    ctx.res.once('close', () => {
      const { route, visitor, tenant, code, fault } = ctx.state;
      const line = {
        request_id: requestId,
        method: ctx.method,
        route: route ?? 'none',
        status: ctx.res.writableFinished ? ctx.status : 499,
        code,
        user: visitor?.user.id,
        tenant: tenant?.name,
        ms: Math.round((performance.now() - start) * 10) / 10,
        err: fault,
      };
      if (fault !== undefined) logger.error(line, 'site request failed');
      else logger.info(line, 'site request');
    });
    await next();
  };
}
