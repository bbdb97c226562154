import { GatewayError } from '../../errors.js';
import { envelopeType, failure, plainMeta } from '../../http/envelope.js';
import { prepareErrorAnswer } from '../../http/error-answer.js';
import { errorPage } from '../pages/error.js';
import type { Site } from '../site.js';
import type { SiteContext, SiteStage } from '../state.js';
import { sendAnswer } from './send-answer.js';

/** The one place where a failure is answered, as a page or as the JSON envelope; what it was in truth goes to the log alone. */
export function respond(site: Site): SiteStage {
  return async function respond(ctx, next) {
    try {
      await next();
      if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found');
    } catch (thrown) {
      const error = prepareErrorAnswer(ctx, thrown);
      if (ctx.state.answers === 'json') sendFailure(ctx, error);
      else sendAnswer(ctx, site, errorPage(error, ctx.state.requestId));
    }
  };
}

function sendFailure(ctx: SiteContext, error: GatewayError): void {
  ctx.status = error.status;
  if (error.status === 401) ctx.set('www-authenticate', 'Bearer realm="helper-gateway keys"');
  ctx.type = envelopeType;
  ctx.body = JSON.stringify(failure(error, plainMeta(ctx.state.requestId)));
}
