import type { Pool } from '../../pool/pool.js';
import { lightBytes } from '../../schemas/input/weigh.js';
import { hasBody } from '../http/text-body.js';
import type { Stage } from './state.js';

/**
 * Gives the call its turn in the pool, and asks at once whether it would be accepted where it brings a body that is not known
 * to be small: a call that cannot be worked on must cost no upload. Without a body it asks before its download, or when its
 * work is to begin.
 */
export function admit(pool: Pick<Pool, 'turn'>): Stage {
  return async function admit(ctx, next) {
    const { helper, tenant, limits, gone } = ctx.state;
    if (!helper || !tenant || !limits) throw new Error('a call is admitted for a tenant');
    const turn = pool.turn({ tenant: tenant.id, weight: tenant.weight, most: limits.inFlight });
    ctx.state.turn = turn;
    // A client that has gone must not keep its place in the line.
    gone.addEventListener('abort', turn.leave);
    try {
      const brings = ctx.method === 'POST' && hasBody(ctx.req.headers);
      if (brings && (ctx.request.length ?? Number.POSITIVE_INFINITY) > lightBytes) await turn.expect();
      await next();
    } finally {
      turn.leave();
    }
  };
}
