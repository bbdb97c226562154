import type { Logger } from 'pino';
import { followRequest, loggedMs } from '../../http/follow-request.js';
import { assetRoute } from '../assets.js';
import type { SiteStage } from '../state.js';

/**
 * Gives the request its id and writes one log line when the answer is out. The line names the route's pattern and not the
 * path: a path may hold an invitation's token.
 */
export function observe(logger: Logger): SiteStage {
  return async function observe(ctx, next) {
    const requestId = followRequest(ctx, ({ status, ms }) => {
      const { route, visitor, tenant, code, fault } = ctx.state;
      const line = {
        request_id: requestId,
        method: ctx.method,
        route,
        status,
        code,
        user: visitor?.user.id,
        tenant,
        ms: loggedMs(ms),
        err: fault,
      };
      if (fault !== undefined) logger.error(line, 'site request failed');
      // A page brings several of them along.
      else if (route === assetRoute) logger.debug(line, 'site request');
      else logger.info(line, 'site request');
    });
    const answers = /^\/(api|metrics)(\/|$)/.test(ctx.path) ? 'json' : 'pages';
    ctx.state = { requestId, answers, visitor: undefined, formToken: '', route: 'none' };
    await next();
  };
}
