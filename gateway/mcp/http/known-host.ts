import { GatewayError } from '../../errors.js';
import type { HttpCall, Stage } from '../../pipeline/stage.js';
import { hostProblem, type KnownAs } from './host-verdict.js';

/** Refuses what came by a foreign Host or from a foreign page, before anything is looked at. */
export function knownHost(known: KnownAs): Stage<HttpCall, object> {
  return function knownHost({ ctx }, next) {
    const message = hostProblem({ host: ctx.get('host'), origin: ctx.get('origin') }, known);
    if (message !== undefined) throw new GatewayError('forbidden', { message });
    return next({});
  };
}
