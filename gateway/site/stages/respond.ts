import { GatewayError } from '../../errors.js';
import { envelopeType, failure, plainMeta } from '../../http/envelope.js';
import { prepareErrorAnswer } from '../../http/error-answer.js';
import { requireRoom, sendBody, strangers } from '../../http/flow/pieces.js';
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
    const { body, state } = ctx;
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return;
    const { outbound: departures } = site;
    sendBody(ctx, body, { departures, requester: requesterOf(ctx), shared: state.sharedBody });
  };
}

/** Refuses a page or a document while this visitor leaves too many unread. */
export function refuseUnread({ outbound }: Pick<Site, 'outbound'>): SiteStage {
  return (ctx, next) => {
    requireRoom(outbound, requesterOf(ctx));
    return next();
  };
}

/** The JSON API and the metrics are the operator's, unless their token is missing. */
function requesterOf({ state }: SiteContext): string {
  if (state.visitor) return `visitor ${state.visitor.user.id}`;
  return state.answers === 'json' && state.code !== 'unauthorized' ? 'operator' : strangers;
}

function sendFailure(ctx: SiteContext, error: GatewayError): void {
  ctx.status = error.status;
  if (error.status === 401) ctx.set('www-authenticate', 'Bearer realm="helper-gateway keys"');
  ctx.type = envelopeType;
  ctx.body = JSON.stringify(failure(error, plainMeta(ctx.state.requestId)));
}
